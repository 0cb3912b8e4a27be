namespace tapedeck {}
