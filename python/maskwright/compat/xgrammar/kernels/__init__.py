"""Kernels that apply bitmasks, by device."""

from .apply_token_bitmask_inplace_cpu import apply_token_bitmask_inplace_cpu
from .apply_token_bitmask_inplace_cuda import apply_token_bitmask_inplace_cuda
from .apply_token_bitmask_inplace_torch import apply_token_bitmask_inplace_torch
from .apply_token_bitmask_inplace_torch_compile import apply_token_bitmask_inplace_torch_compile
from .apply_token_bitmask_inplace_triton import apply_token_bitmask_inplace_triton

apply_token_bitmask_inplace_kernels = {
    "cpu": apply_token_bitmask_inplace_cpu,
    "cuda": apply_token_bitmask_inplace_cuda,
    "triton": apply_token_bitmask_inplace_triton,
    "torch_compile": apply_token_bitmask_inplace_torch_compile,
    "torch_native": apply_token_bitmask_inplace_torch,
}

__all__ = ["apply_token_bitmask_inplace_kernels"]
