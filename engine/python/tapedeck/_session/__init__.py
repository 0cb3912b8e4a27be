"""What runs beside a program: sessions of the desktop application, and the ways to attach one."""
