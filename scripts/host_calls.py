#!/usr/bin/env python3
"""Host time of an eager transformer layer with full recomputation, without a device: `call_us` of data/kernels/host.yaml.

The layer makes the same calls as one of Megatron-LM (2022) on one tensor rank: modules, autograd functions, views, random
states, checkpoint. Its tensors are so small that the operations themselves take next to nothing. Needs PyTorch, no GPU.

    pip install torch==1.13.1 "numpy<2"
    python3 scripts/host_calls.py
"""

import contextlib
import math
import platform
import time

import torch
import torch.nn.functional as F

HIDDEN, HEADS, SEQUENCE, LAYERS = 16, 4, 8, 8
HEAD = HIDDEN // HEADS

generator = torch.Generator()
tracked = {"tensor": generator.get_state()}


def set_state(state):
    generator.set_state(state.clone())


@contextlib.contextmanager
def tensor_rank_state():
    before = generator.get_state()
    set_state(tracked["tensor"])
    try:
        yield
    finally:
        tracked["tensor"] = generator.get_state()
        set_state(before)


class Identity(torch.autograd.Function):
    """What stands around a product for the tensor ranks."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, scale):
        scale = torch.tensor([scale])
        scale[0]
        result = torch._softmax(scores, -1, False)
        ctx.save_for_backward(result, scale)
        return result

    @staticmethod
    def backward(ctx, gradient):
        result, scale = ctx.saved_tensors
        scale[0]
        return torch._softmax_backward_data(gradient, result, -1, result.dtype), None


class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
        result, mean, deviation = torch.native_layer_norm(x, [HIDDEN], weight, bias, 1e-5)
        ctx.save_for_backward(x, weight, bias, mean, deviation)
        return result

    @staticmethod
    def backward(ctx, gradient):
        x, weight, bias, mean, deviation = ctx.saved_tensors
        gradients = torch.ops.aten.native_layer_norm_backward
        return gradients(gradient.contiguous(), x, [HIDDEN], mean, deviation, weight, bias, [True] * 3)


@torch.jit.script
def activate(x, bias):
    x = x + bias
    return x * torch.sigmoid(1.702 * x)


@torch.jit.script
def activate_back(gradient, x, bias):
    x = x + bias
    gate = torch.sigmoid(1.702 * x)
    return gradient * (gate + 1.702 * x * gate * (1.0 - gate))


class Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        return activate(x, bias)

    @staticmethod
    def backward(ctx, gradient):
        x, bias = ctx.saved_tensors
        result = activate_back(gradient, x, bias)
        return result, result


@torch.jit.script
def add_residual(x, bias, residual):
    return residual + F.dropout(x + bias, 0.1, True)


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(HIDDEN))
        self.bias = torch.nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, x):
        return Normalise.apply(x, self.weight, self.bias)


class Linear(torch.nn.Module):
    def __init__(self, inputs, outputs, before, with_bias=False):
        super().__init__()
        self.weight = torch.nn.Parameter(0.02 * torch.randn(outputs, inputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))
        self.before, self.with_bias = before, with_bias

    def forward(self, x):
        if self.before:
            x = Identity.apply(x)
        y = F.linear(x, self.weight, self.bias if self.with_bias else None)
        return (y if self.before else Identity.apply(y)), self.bias


class Scores(torch.nn.Module):
    def forward(self, scores):
        shape = scores.size()
        return Softmax.apply(scores.view(-1, shape[2], shape[3]), 1.0).view(*shape)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = Linear(HIDDEN, 3 * HIDDEN, before=True, with_bias=True)
        self.out = Linear(HIDDEN, HIDDEN, before=False)
        self.scores, self.dropout = Scores(), torch.nn.Dropout(0.1)

    def forward(self, x):
        qkv, _ = self.qkv(x)
        qkv = qkv.view(*qkv.size()[:-1], HEADS, 3 * HEAD)
        query, key, value = torch.split(qkv, HEAD, dim=-1)
        length, batch = query.size(0), query.size(1)
        query = query.view(length, batch * HEADS, -1)
        key = key.view(length, batch * HEADS, -1)
        empty = torch.empty(batch * HEADS, length, length)
        scores = torch.baddbmm(
            empty, query.transpose(0, 1), key.transpose(0, 1).transpose(1, 2), beta=0.0, alpha=1 / math.sqrt(HEAD)
        )
        shares = self.scores(scores.view(batch, HEADS, length, length))
        with tensor_rank_state():
            shares = self.dropout(shares)
        value = value.view(length, batch * HEADS, -1)
        result = torch.bmm(shares.view(batch * HEADS, length, -1), value.transpose(0, 1))
        result = result.view(batch, HEADS, length, HEAD).permute(2, 0, 1, 3).contiguous()
        return self.out(result.view(length, batch, HIDDEN))


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = Linear(HIDDEN, 4 * HIDDEN, before=True)
        self.down = Linear(4 * HIDDEN, HIDDEN, before=False)

    def forward(self, x):
        return self.down(Activate.apply(*self.up(x)))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Norm(), Norm()
        self.attention, self.feed_forward = Attention(), FeedForward()

    def forward(self, x):
        for norm, part in ((self.first, self.attention), (self.second, self.feed_forward)):
            y, bias = part(norm(x))
            with torch.enable_grad():
                x = add_residual(y, bias.expand_as(x), x)
        return x


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, layer, x):
        ctx.layer = layer
        ctx.states = torch.get_rng_state(), generator.get_state(), dict(tracked)
        ctx.save_for_backward(x)
        with torch.no_grad():
            return layer(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        now = torch.get_rng_state(), generator.get_state(), dict(tracked)
        Checkpoint.restore(ctx.states)
        with torch.enable_grad():
            y = ctx.layer(x)
        Checkpoint.restore(now)
        torch.autograd.backward((y,), (gradient,))
        return None, x.grad

    @staticmethod
    def restore(states):
        torch.set_rng_state(states[0])
        set_state(states[1])
        tracked.update(states[2])


def least(measure, times):
    """The second percentile of the thread's own time, in microseconds: other processes disturb, none helps."""
    taken = []
    for _ in range(times):
        start = time.thread_time()
        measure()
        taken.append(1e6 * (time.thread_time() - start))
    return sorted(taken)[times // 50]


def main():
    torch.set_num_threads(1)
    layers = [Layer() for _ in range(LAYERS)]

    def input_():
        return torch.randn(SEQUENCE, 1, HIDDEN, requires_grad=True)

    def forward():
        with torch.no_grad():
            layers[0](input_())

    def forward_for_gradients():
        layers[0](input_())

    def step():
        x = input_()
        for layer in layers:
            x = Checkpoint.apply(layer, x)
        x.sum().backward()

    for _ in range(20):
        step()
    one, again, whole = least(forward, 500), least(forward_for_gradients, 500), least(step, 200) / LAYERS
    print(f"Python {platform.python_version()}, PyTorch {torch.__version__}, one thread")
    print(f"forward pass             {one:6.0f} us")
    print(f"forward pass, recorded   {again:6.0f} us")
    print(f"with recomputation, all  {whole:6.0f} us a layer")
    print(f"backward pass, the rest  {whole - one - again:6.0f} us")


if __name__ == "__main__":
    main()
