"""Functions have TensorFlow's names, those of its second and its first generation, and take their arguments in its order."""
import inspect
import unittest

import tapedeck as tf

# TensorFlow 2's functions as it declares them; `name` is left out, `?` is a default that has no meaning here. Defaults
# that mean the same there and here, such as None and the last axis, are in _SAME.
_TABLE = """
zeros(shape,dtype=F32) ones(shape,dtype=F32) zeros_like(input,dtype=None) ones_like(input,dtype=None) fill(dims,value)
eye(num_rows,num_columns=None,batch_shape=None,dtype=F32) range(start,limit=?,delta=1,dtype=None)
linspace(start,stop,num,name=?,axis=0) one_hot(indices,depth,on_value=None,off_value=None,axis=None,dtype=None)
linalg.tensor_diag(diagonal) linalg.diag(diagonal,name=?,k=0,num_rows=-1,num_cols=-1,padding_value=0,align='RIGHT_LEFT')
linalg.diag_part(input,name=?,k=0,padding_value=0,align='RIGHT_LEFT')
linalg.set_diag(input,diagonal,name=?,k=0,align='RIGHT_LEFT') linalg.band_part(input,num_lower,num_upper)
random.uniform(shape,minval=0,maxval=None,dtype=F32,seed=None) random.normal(shape,mean=0.0,stddev=1.0,dtype=F32,seed=None)
random.truncated_normal(shape,mean=0.0,stddev=1.0,dtype=F32,seed=None) random.shuffle(value,seed=None)
random.categorical(logits,num_samples,dtype=None,seed=None) random.gamma(shape,alpha,beta=None,dtype=F32,seed=None)
random.stateless_uniform(shape,seed,minval=0,maxval=None,dtype=F32,name=?,alg='auto_select')
random.stateless_normal(shape,seed,mean=0.0,stddev=1.0,dtype=F32,name=?,alg='auto_select')
random.stateless_truncated_normal(shape,seed,mean=0.0,stddev=1.0,dtype=F32,name=?,alg='auto_select')
random.stateless_categorical(logits,num_samples,seed,dtype=I64) random.stateless_gamma(shape,seed,alpha,beta=None,dtype=F32)
random.set_seed(seed) random.get_global_generator() where(condition,x=None,y=None)
clip_by_value(t,clip_value_min,clip_value_max) clip_by_norm(t,clip_norm,axes=None) cast(x,dtype) dtypes.cast(x,dtype)
saturate_cast(value,dtype) dtypes.saturate_cast(value,dtype) math.reduce_sum(input_tensor,axis=None,keepdims=False)
math.reduce_logsumexp(input_tensor,axis=None,keepdims=False) math.reduce_variance(input_tensor,axis=None,keepdims=False)
math.reduce_std(input_tensor,axis=None,keepdims=False) math.reduce_euclidean_norm(input_tensor,axis=None,keepdims=False)
norm(tensor,ord='euclidean',axis=None,keepdims=None) linalg.norm(tensor,ord='euclidean',axis=None,keepdims=None)
linalg.normalize(tensor,ord='euclidean',axis=None) argmax(input,axis=None,output_type=I64)
argmin(input,axis=None,output_type=I64) math.cumsum(x,axis=0,exclusive=False,reverse=False)
math.cumprod(x,axis=0,exclusive=False,reverse=False) math.cumulative_logsumexp(x,axis=0,exclusive=False,reverse=False)
math.top_k(input,k=1,sorted=True,index_type=I32) nn.top_k(input,k=1,sorted=True,index_type=I32)
sort(values,axis=-1,direction='ASCENDING') argsort(values,axis=-1,direction='ASCENDING',stable=False) unique(x,out_idx=I32)
unique_with_counts(x,out_idx=I32)
math.bincount(arr,weights=None,minlength=None,maxlength=None,dtype=I32,name=?,axis=None,binary_output=False)
math.segment_sum(data,segment_ids) math.unsorted_segment_sum(data,segment_ids,num_segments)
math.count_nonzero(input,axis=None,keepdims=None,dtype=I64)
math.confusion_matrix(labels,predictions,num_classes=None,weights=None,dtype=I32)
math.accumulate_n(inputs,shape=None,tensor_dtype=None) math.zero_fraction(value) math.lbeta(x) reshape(tensor,shape)
transpose(a,perm=None,conjugate=False) expand_dims(input,axis) squeeze(input,axis=None) concat(values,axis)
stack(values,axis=0) unstack(value,num=None,axis=0) split(value,num_or_size_splits,axis=0,num=None) tile(input,multiples)
pad(tensor,paddings,mode='CONSTANT',constant_values=0) broadcast_to(input,shape) reverse(tensor,axis) roll(input,shift,axis)
slice(input_,begin,size)
strided_slice(input_,begin,end,strides=None,begin_mask=0,end_mask=0,ellipsis_mask=0,new_axis_mask=0,shrink_axis_mask=0)
gather(params,indices,validate_indices=None,axis=None,batch_dims=0) gather_nd(params,indices,batch_dims=0)
scatter_nd(indices,updates,shape) tensor_scatter_nd_update(tensor,indices,updates)
tensor_scatter_nd_add(tensor,indices,updates) tensor_scatter_nd_sub(tensor,indices,updates)
tensor_scatter_nd_min(tensor,indices,updates) tensor_scatter_nd_max(tensor,indices,updates)
boolean_mask(tensor,mask,axis=None) sequence_mask(lengths,maxlen=None,dtype=BOOL) shape(input,out_type=I32)
size(input,out_type=I32) rank(input) identity(input) identity_n(input) stop_gradient(input)
debugging.check_numerics(tensor,message) space_to_batch(input,block_shape,paddings)
space_to_batch_nd(input,block_shape,paddings) batch_to_space(input,block_shape,crops)
nn.space_to_batch(input,block_shape,paddings) nn.batch_to_space(input,block_shape,crops)
nn.space_to_depth(input,block_size,data_format='NHWC') searchsorted(sorted_sequence,values,side='left',out_type=I32)
repeat(input,repeats,axis=None) linalg.matmul(a,b,transpose_a=False,transpose_b=False,adjoint_a=False,adjoint_b=False)
tensordot(a,b,axes) linalg.matvec(a,b,transpose_a=False,adjoint_a=False,a_is_sparse=False,b_is_sparse=False) linalg.trace(x)
linalg.cholesky(input) linalg.cholesky_solve(chol,rhs) linalg.qr(input,full_matrices=False)
linalg.svd(tensor,full_matrices=False,compute_uv=True) linalg.eigh(tensor) linalg.eigvalsh(tensor)
linalg.inv(input,adjoint=False) linalg.det(input) linalg.slogdet(input) linalg.logdet(matrix)
linalg.solve(matrix,rhs,adjoint=False) linalg.triangular_solve(matrix,rhs,lower=True,adjoint=False)
linalg.lstsq(matrix,rhs,l2_regularizer=0.0,fast=True) linalg.pinv(a,rcond=None,validate_args=False) linalg.sqrtm(input)
linalg.expm(input) linalg.logm(input) linalg.lu(input,output_idx_type=I32)
linalg.lu_solve(lower_upper,perm,rhs,validate_args=False) linalg.lu_reconstruct(lower_upper,perm,validate_args=False)
linalg.lu_matrix_inverse(lower_upper,perm,validate_args=False) linalg.matrix_rank(a,tol=None,validate_args=False)
linalg.global_norm(t_list) linalg.l2_normalize(x,axis=None,epsilon=1e-12) linalg.matrix_transpose(a,name=?,conjugate=False)
linalg.adjoint(matrix) linalg.cross(a,b) linalg.tensor_diag_part(input)
linalg.eye(num_rows,num_columns=None,batch_shape=None,dtype=F32) nn.softmax(logits,axis=None)
nn.log_softmax(logits,axis=None) nn.softmax_cross_entropy_with_logits(labels,logits,axis=-1)
nn.sparse_softmax_cross_entropy_with_logits(labels,logits) nn.sigmoid_cross_entropy_with_logits(labels,logits)
nn.weighted_cross_entropy_with_logits(labels,logits,pos_weight) nn.l2_loss(t) nn.bias_add(value,bias,data_format=None)
nn.dropout(x,rate,noise_shape=None,seed=None) nn.moments(x,axes,shift=None,keepdims=False)
nn.weighted_moments(x,axes,frequency_weights,keepdims=False) nn.sufficient_statistics(x,axes,shift=None,keepdims=False)
nn.normalize_moments(counts,mean_ss,variance_ss,shift) nn.batch_normalization(x,mean,variance,offset,scale,variance_epsilon)
nn.conv1d(input,filters,stride,padding,data_format='NWC',dilations=None)
nn.conv2d(input,filters,strides,padding,data_format='NHWC',dilations=None)
nn.conv1d_transpose(input,filters,output_shape,strides,padding='SAME',data_format='NWC',dilations=None)
nn.conv2d_transpose(input,filters,output_shape,strides,padding='SAME',data_format='NHWC',dilations=None)
nn.conv_transpose(input,filters,output_shape,strides,padding='SAME',data_format=None,dilations=None)
nn.depthwise_conv2d(input,filter,strides,padding,data_format=None,dilations=None)
nn.depthwise_conv2d_backprop_input(input_sizes,filter,out_backprop,strides,padding,data_format='NHWC',dilations=?)
nn.depthwise_conv2d_backprop_filter(input,filter_sizes,out_backprop,strides,padding,data_format='NHWC',dilations=?)
nn.separable_conv2d(input,depthwise_filter,pointwise_filter,strides,padding,data_format=None,dilations=None)
nn.convolution(input,filters,strides=None,padding='VALID',data_format=None,dilations=None)
nn.atrous_conv2d(value,filters,rate,padding) nn.atrous_conv2d_transpose(value,filters,output_shape,rate,padding)
nn.max_pool(input,ksize,strides,padding,data_format=None) nn.avg_pool(input,ksize,strides,padding,data_format=None)
nn.max_pool1d(input,ksize,strides,padding,data_format='NWC') nn.avg_pool1d(input,ksize,strides,padding,data_format='NWC')
nn.max_pool2d(input,ksize,strides,padding,data_format='NHWC') nn.avg_pool2d(input,ksize,strides,padding,data_format='NHWC')
nn.max_pool_with_argmax(input,ksize,strides,padding,data_format='NHWC',output_dtype=I64,include_batch_in_index=False)
nn.pool(input,window_shape,pooling_type,strides=None,padding='VALID',data_format=None,dilations=None)
nn.embedding_lookup(params,ids,max_norm=None) nn.l2_normalize(x,axis=None,epsilon=1e-12) nn.in_top_k(targets,predictions,k)
nn.relu(features) nn.relu6(features) nn.leaky_relu(features,alpha=0.2) nn.elu(features) nn.selu(features)
nn.gelu(features,approximate=False) nn.softplus(features) nn.softsign(features) nn.swish(features,beta=1.0)
nn.silu(features,beta=1.0) nn.crelu(features,axis=-1) nn.zero_fraction(value) ensure_shape(x,shape)
unravel_index(indices,dims) reverse_sequence(input,seq_lengths,seq_axis=None,batch_axis=None)
dynamic_partition(data,partitions,num_partitions) dynamic_stitch(indices,data) to_float(x) to_double(x) to_int32(x)
to_int64(x) to_bfloat16(x) batch_gather(params,indices) lbeta(x) batch_to_space_nd(input,block_shape,crops)
manip.gather_nd(params,indices) manip.reshape(tensor,shape) manip.reverse(tensor,axis) manip.tile(input,multiples)
manip.space_to_batch_nd(input,block_shape,paddings) manip.batch_to_space_nd(input,block_shape,crops)
matrix_solve_ls(matrix,rhs,l2_regularizer=0.0,fast=True) matrix_band_part(input,num_lower,num_upper)
broadcast_dynamic_shape(shape_x,shape_y) debugging.is_numeric_tensor(tensor)
debugging.assert_equal(x,y,message=None,summarize=None)
debugging.assert_near(x,y,rtol=None,atol=None,message=None,summarize=None) debugging.assert_rank(x,rank,message=None)
debugging.assert_shapes(shapes,data=None,summarize=None,message=None) debugging.assert_type(tensor,tf_type,message=None)
debugging.assert_integer(x,message=None) debugging.assert_scalar(tensor,message=None)
debugging.assert_proper_iterable(values) debugging.assert_same_float_dtype(tensors=None,dtype=None)
debugging.assert_all_finite(x,message) add_n(inputs)
nn.fused_batch_norm(x,scale,offset,mean=None,variance=None,epsilon=0.001,data_format='NHWC',is_training=True)
experimental.numpy.outer(a,b) nn.log_poisson_loss(targets,log_input,compute_full_loss=False)
nn.local_response_normalization(input,depth_radius=5,bias=1,alpha=1,beta=0.5) image.random_crop(value,size,seed=None)
histogram_fixed_width(values,value_range,nbins=100,dtype=I32) math.polyval(coeffs,x)
histogram_fixed_width_bins(values,value_range,nbins=100,dtype=I32)
math.igamma(a,x) math.igammac(a,x) math.betainc(a,b,x) random.poisson(shape,lam,dtype=F32,seed=None)
random.stateless_poisson(shape,seed,lam,dtype=I32) cond(pred,true_fn=None,false_fn=None)
case(pred_fn_pairs,default=None,exclusive=False,strict=False,name='case')
switch_case(branch_index,branch_fns,default=None,name='switch_case')
while_loop(cond,body,loop_vars,shape_invariants=None,parallel_iterations=10,back_prop=True,swap_memory=False,maximum_iterations=None)
map_fn(fn,elems,dtype=None,parallel_iterations=None,back_prop=True,swap_memory=False,infer_shape=True,name=?,fn_output_signature=None)
scan(fn,elems,initializer=None,parallel_iterations=10,back_prop=True,swap_memory=False,infer_shape=True,reverse=False)
foldl(fn,elems,initializer=None,parallel_iterations=10,back_prop=True,swap_memory=False)
foldr(fn,elems,initializer=None,parallel_iterations=10,back_prop=True,swap_memory=False)
bitcast(input,type) math.nextafter(x1,x2) math.bessel_i0(x) math.bessel_i1e(x) math.special.bessel_k1e(x)
nn.conv3d(input,filters,strides,padding,data_format='NDHWC',dilations=?)
nn.conv3d_transpose(input,filters,output_shape,strides,padding='SAME',data_format='NDHWC',dilations=None)
nn.max_pool3d(input,ksize,strides,padding,data_format='NDHWC') nn.avg_pool3d(input,ksize,strides,padding,data_format='NDHWC')
required_space_to_batch_paddings(input_shape,block_shape,base_paddings=None)
random.stateless_binomial(shape,seed,counts,probs,output_dtype=I32) assign(ref,value,validate_shape=None,use_locking=None)
assign_add(ref,value,use_locking=None) assign_sub(ref,value,use_locking=None) scatter_add(ref,indices,updates,use_locking=False)
scatter_nd_update(ref,indices,updates,use_locking=True) batch_scatter_update(ref,indices,updates,use_locking=True)
IndexedSlices(values,indices,dense_shape=None) Variable.scatter_mul(self,sparse_delta,use_locking=False)
Variable.scatter_nd_max(self,indices,updates) Variable.batch_scatter_update(self,sparse_delta,use_locking=False)
keras.initializers.VarianceScaling(scale=1.0,mode='fan_in',distribution='truncated_normal',seed=None)
random_normal_initializer(mean=0.0,stddev=0.05,seed=None) random_uniform_initializer(minval=-0.05,maxval=0.05,seed=None)
truncated_normal_initializer(mean=0.0,stddev=1.0,seed=None,dtype=F32) initializers.orthogonal(gain=1.0,seed=None)
vectorized_map(fn,elems,fallback_to_while_loop=True,warn=True)
py_function(func=None,inp=None,Tout=None) numpy_function(func=None,inp=None,Tout=None,stateful=True) no_op() timestamp()
control_dependencies(control_inputs) grad_pass_through(f) test.compute_gradient(f,x,delta=None) math.real(input) math.imag(input)
test.is_gpu_available(cuda_only=False,min_cuda_compute_capability=None) config.list_physical_devices(device_type=None)
config.list_logical_devices(device_type=None) config.run_functions_eagerly(run_eagerly) clip_by_average_norm(t,clip_norm)
arg_max(input,dimension,output_type=I64) parallel_stack(values,name=?)
extract_image_patches(images,ksizes=None,strides=None,rates=None,padding=None)
random.split(seed,num=2,alg='auto_select')
random.fold_in(seed,data,alg='auto_select') random.experimental.stateless_shuffle(value,seed,alg='auto_select')
random.Generator(copy_from=None,state=None,alg=None) Module(name=None)
TensorArray(dtype,size=None,dynamic_size=None,clear_after_read=None,tensor_array_name=None,handle=None,flow=None,infer_shape=True,element_shape=None)
TensorArray.write(self,index,value) TensorArray.unstack(self,value) TensorArray.scatter(self,indices,value)
image.flip_left_right(image) image.flip_up_down(image) image.random_flip_left_right(image,seed=None)
image.transpose(image) image.rot90(image,k=1) image.central_crop(image,central_fraction)
image.crop_to_bounding_box(image,offset_height,offset_width,target_height,target_width)
image.pad_to_bounding_box(image,offset_height,offset_width,target_height,target_width)
image.extract_patches(images,sizes,strides,rates,padding) image.image_gradients(image) image.total_variation(images)
image.resize(images,size,method='bilinear',preserve_aspect_ratio=False,antialias=False) image.sobel_edges(image)
image.psnr(a,b,max_val) image.convert_image_dtype(image,dtype,saturate=False) image.rgb_to_grayscale(images)
image.grayscale_to_rgb(images) image.adjust_brightness(image,delta) image.adjust_contrast(images,contrast_factor)
image.per_image_standardization(image) nest.flatten(structure,expand_composites=False)
nest.pack_sequence_as(structure,flat_sequence,expand_composites=False)
TensorArray.split(self,value,lengths) TensorArray.gather(self,indices) TensorArray.read(self,index)
TensorArray.stack(self) TensorArray.concat(self) TensorArray.size(self) TensorArray.close(self) TensorArray.identity(self)
image.random_flip_up_down(image,seed=None) arg_min(input,dimension,output_type=I64) guarantee_const(input) init_scope()
group() device(name) name_scope(name,default_name=None,values=None) grad_pass_through(f) recompute_grad(f) test.gpu_device_name()
config.functions_run_eagerly() debugging.enable_traceback_filtering() debugging.disable_traceback_filtering()
debugging.is_traceback_filtering_enabled() random.set_global_generator(generator) random.get_global_generator()
random.Generator.from_seed(seed,alg=None) random.Generator.from_non_deterministic_state(alg=None)
random.Generator.from_state(state,alg) random.Generator.reset(self,state) random.Generator.reset_from_seed(self,seed)
random.Generator.skip(self,delta) random.Generator.split(self,count=1) random.Generator.make_seeds(self,count=1)
random.Generator.uniform(self,shape,minval=0,maxval=None,dtype=F32) random.Generator.normal(self,shape,mean=0.0,stddev=1.0,dtype=F32)
random.Generator.truncated_normal(self,shape,mean=0.0,stddev=1.0,dtype=F32) random.Generator.uniform_full_int(self,shape,dtype=?)
random.Generator.binomial(self,shape,counts,probs,dtype=I32) nest.map_structure(func)
nest.assert_same_structure(nest1,nest2,check_types=True,expand_composites=False)
multinomial(logits,num_samples,seed=None,name=None,output_dtype=?) random_poisson(lam,shape,dtype=F32,seed=None)
setdiff1d(x,y,index_dtype=I32) math.erfcinv(x) shape_n(input,out_type=I32) broadcast_static_shape(shape_x,shape_y)
scatter_update(ref,indices,updates,use_locking=True) scatter_sub(ref,indices,updates,use_locking=False)
scatter_mul(ref,indices,updates,use_locking=False) scatter_div(ref,indices,updates,use_locking=False)
scatter_nd_add(ref,indices,updates,use_locking=False) scatter_nd_sub(ref,indices,updates,use_locking=False)
clip_by_global_norm(t_list,clip_norm,use_norm=None) scalar_mul(scalar,x) div(x,y) segment_mean(data,segment_ids)
segment_prod(data,segment_ids) unsorted_segment_mean(data,segment_ids,num_segments) unsorted_segment_sqrt_n(data,segment_ids,num_segments)
debugging.assert_less(x,y,message=None,summarize=None) debugging.assert_positive(x,message=None,summarize=None)
debugging.assert_rank_at_least(x,rank,message=None) debugging.assert_rank_in(x,ranks,message=None)
debugging.Assert(condition,data,summarize=None) verify_tensor_all_finite(t=None,msg=None,name=None,x=None,message=None)
initializers.TruncatedNormal(mean=0.0,stddev=0.05,seed=None) initializers.HeNormal(seed=None) initializers.LecunUniform(seed=None)
initializers.Identity(gain=1.0) initializers.get(identifier) zeros_initializer(dtype=F32) constant_initializer(value=0.0)
glorot_uniform_initializer(seed=None,dtype=F32)
"""

_SAME = {("one_hot", "axis"): -1, ("random.categorical", "dtype"): tf.int64, ("nn.softmax", "axis"): -1,
         ("zeros_initializer", "dtype"): None, ("glorot_uniform_initializer", "dtype"): None,
         ("nn.log_softmax", "axis"): -1, ("nn.bias_add", "data_format"): "NHWC"}

# TensorFlow 1's names, and what they are now.
_FIRST_GENERATION = """
log math.log; log1p math.log1p; ceil math.ceil; erf math.erf; erfc math.erfc; lgamma math.lgamma; digamma math.digamma
polygamma math.polygamma; zeta math.zeta; rsqrt math.rsqrt; reciprocal math.reciprocal; log_sigmoid math.log_sigmoid
rint math.rint; is_nan math.is_nan; is_inf math.is_inf; is_finite math.is_finite; logical_xor math.logical_xor
floordiv math.floordiv; floormod math.floormod; mod math.floormod; truncatediv math.truncatediv; truncatemod math.truncatemod
div_no_nan math.divide_no_nan; squared_difference math.squared_difference; count_nonzero math.count_nonzero
bincount math.bincount; segment_sum math.segment_sum; unsorted_segment_sum math.unsorted_segment_sum
segment_mean math.segment_mean; unsorted_segment_max math.unsorted_segment_max; reduce_sum math.reduce_sum
reduce_logsumexp math.reduce_logsumexp; cumsum math.cumsum; cumprod math.cumprod; add_n math.add_n
invert_permutation math.invert_permutation; cholesky linalg.cholesky; cholesky_solve linalg.cholesky_solve; qr linalg.qr
svd linalg.svd; self_adjoint_eig linalg.eigh; self_adjoint_eigvals linalg.eigvalsh; matrix_inverse linalg.inv
matrix_determinant linalg.det; matrix_solve linalg.solve; matrix_triangular_solve linalg.triangular_solve
matrix_solve_ls linalg.lstsq; matrix_square_root linalg.sqrtm; matrix_band_part linalg.band_part; matrix_diag linalg.diag
matrix_diag_part linalg.diag_part; matrix_set_diag linalg.set_diag; matrix_transpose linalg.matrix_transpose
diag linalg.tensor_diag; diag_part linalg.tensor_diag_part; trace linalg.trace; logdet linalg.logdet; cross linalg.cross
norm linalg.norm; global_norm linalg.global_norm; random_uniform random.uniform; random_normal random.normal
truncated_normal random.truncated_normal; random_shuffle random.shuffle; random_gamma random.gamma
set_random_seed random.set_seed; lin_space linspace; check_numerics debugging.check_numerics
assert_equal debugging.assert_equal; is_numeric_tensor debugging.is_numeric_tensor; space_to_depth nn.space_to_depth
tensor_scatter_update tensor_scatter_nd_update; tensor_scatter_add tensor_scatter_nd_add; sigmoid math.sigmoid
tensor_scatter_sub tensor_scatter_nd_sub; nn.softmax_cross_entropy_with_logits_v2 nn.softmax_cross_entropy_with_logits
nn.depthwise_conv2d_native nn.depthwise_conv2d; accumulate_n math.accumulate_n; confusion_matrix math.confusion_matrix
igamma math.igamma; igammac math.igammac; betainc math.betainc
saturate_cast dtypes.saturate_cast; lbeta math.lbeta; manip.roll roll; manip.reverse reverse
random_crop image.random_crop; nn.lrn nn.local_response_normalization
"""


def _function(path):
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _declared(line):
    """A line of the table as (path, {argument: default or Parameter.empty or "?"})."""
    path, _, arguments = line.partition("(")
    names = {"F32": tf.float32, "I32": tf.int32, "I64": tf.int64, "BOOL": tf.bool}
    declared = {}
    for argument in filter(None, arguments.rstrip(")").split(",")):
        name, equals, default = argument.partition("=")
        declared[name] = default if default == "?" else eval(default, names) if equals else inspect.Parameter.empty
    return path, declared


class Signatures(unittest.TestCase):
    def test_arguments_have_tensorflows_names_order_and_defaults(self):
        for line in _TABLE.split():
            path, declared = _declared(line)
            with self.subTest(path):
                parameters = inspect.signature(_function(path)).parameters
                positional = [name for name, each in parameters.items()
                              if each.kind is each.POSITIONAL_OR_KEYWORD and (name != "name" or "name" in declared)]
                self.assertEqual(positional[:len(declared)], list(declared))
                for name, default in declared.items():
                    if default in ("?", inspect.Parameter.empty):  # some are None here, for TensorFlow 1's names of them
                        continue
                    self.assertEqual(parameters[name].default, _SAME.get((path, name), default), name)

    def test_the_first_generations_names_are_there(self):
        for pair in _FIRST_GENERATION.replace("\n", ";").split(";"):
            if pair.strip():
                old, new = pair.split()
                self.assertIs(_function(old), _function(new), old)

    def test_a_default_of_none_means_what_it_means_in_tensorflow(self):
        x = tf.constant([[1., 2.]])
        self.assertEqual(tf.one_hot([1], 2, axis=None).numpy().tolist(), [[0, 1]])
        for function in (tf.nn.softmax, tf.nn.log_softmax):
            self.assertEqual(function(x, axis=None).numpy().tolist(), function(x, -1).numpy().tolist())
        for data_format in (None, "NHWC", "N...C", "NWC", "NC...", "NCHW"):
            self.assertEqual(tf.nn.bias_add(x, [1., 2.], data_format).numpy().tolist(), [[2, 4]])
        with self.assertRaisesRegex(ValueError, "bias_add: data_format is 'HWC'"):
            tf.nn.bias_add(x, [1., 2.], "HWC")
        self.assertEqual(tf.random.categorical(x, 2, dtype=None).dtype, tf.int64)
        self.assertEqual((tf.zeros_initializer()([1]).dtype, tf.glorot_uniform_initializer()([1, 1]).dtype), (tf.float32, tf.float32))
        self.assertEqual(tf.matmul(x, x, transpose_b=True, a_is_sparse=True, b_is_sparse=True).numpy(), [[5]])

    def test_arguments_of_both_generations(self):
        x = tf.constant([[1., 3.]])
        for arguments, keywords in ((([1], None, True), {}), (([1],), {"keep_dims": True}), (([1],), {"keepdims": True})):
            mean, variance = tf.nn.moments(x, *arguments, **keywords)
            self.assertEqual((mean.numpy().tolist(), variance.numpy().tolist()), ([[2]], [[1]]))
        self.assertEqual(tf.nn.moments(x, [1], None, "moments")[0].shape, (1,))
        self.assertEqual(tf.nn.weighted_moments(x, [1], [[1., 3.]], True)[0].numpy().tolist(), [[2.5]])
        rows = [[3., 4.], [0., 1.]]
        np_rows = tf.nn.embedding_lookup([rows], [0, 1], 1.).numpy()
        self.assertAlmostEqual(float(np_rows[0, 1]), .8, places=6)
        halves = [tf.constant(rows[:1]), tf.constant(rows[1:])]
        self.assertEqual(tf.nn.embedding_lookup(halves, [1], "div").numpy().tolist(), [rows[1]])
        self.assertEqual(tf.nn.in_top_k([1], [[.1, .9]], 1).numpy().tolist(), [True])
        self.assertEqual(tf.nn.in_top_k(predictions=[[.1, .9]], targets=[0], k=1).numpy().tolist(), [False])
        self.assertEqual(tf.linalg.diag([1, 2], "diagonal", 1).numpy().tolist(), [[0, 1, 0], [0, 0, 2], [0, 0, 0]])


if __name__ == "__main__":
    unittest.main()
