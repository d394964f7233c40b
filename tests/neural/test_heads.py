"""Full softmax: exact values and gradients, bounded memory, published sizes."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from textmill.neural import chunked_loss, heads
from textmill.neural.chunk import PADDING
from textmill.neural.chunked_loss import chunked_cross_entropy
from textmill.neural.compiled_loss import compiled_cross_entropy
from textmill.neural.config import NetworkConfig
from textmill.neural.heads import FullHead
from textmill.neural.network import Network, count_parameters
from textmill.neural.row_threads import RowThreads
from textmill.neural.softmax_kernels import exp as kernel_exp
from textmill.tokenizers.vocabulary import BEGIN

Configure = Callable[..., NetworkConfig]


def _problem(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    x, weight = torch.randn(23, 6, dtype=dtype), torch.randn(40, 6, dtype=dtype)
    bias = torch.randn(40, dtype=dtype)
    bias[BEGIN] = -torch.inf
    targets = torch.randint(2, 40, (23,))
    return x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), targets


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_chunked_loss_and_gradients_are_the_plain_ones(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked_loss, "LOGITS_AT_ONCE", rows * 40)
    x, weight, bias, targets = _problem(torch.float64)
    plain = functional.cross_entropy(functional.linear(x, weight, bias), targets, reduction="sum")
    expected = torch.autograd.grad(0.3 * plain, (x, weight, bias))
    chunked = chunked_cross_entropy(x, weight, bias, targets)
    found = torch.autograd.grad(0.3 * chunked, (x, weight, bias))
    assert chunked.item() == pytest.approx(plain.item(), rel=1e-14)
    for one, two in zip(found, expected, strict=True):
        assert torch.allclose(one, two, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("spread", [1, 100])
def test_the_kernels_loss_and_gradients_are_those_of_float64(
    rows: int, spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU float32 is compiled; logits of hundreds are no trouble."""
    monkeypatch.setattr(chunked_loss, "LOGITS_AT_ONCE", rows * 40)
    exact = _problem(torch.float64)
    wide = exact[0].detach() * spread
    exact = wide.requires_grad_(), *exact[1:]
    x, weight, bias, targets = (part.detach() for part in exact)
    inputs = [part.float().requires_grad_() for part in (x, weight, bias)]
    plain = functional.cross_entropy(functional.linear(*exact[:3]), targets, reduction="sum")
    expected = torch.autograd.grad(0.3 * plain, exact[:3])
    chunked = chunked_cross_entropy(*inputs, targets)
    found = torch.autograd.grad(0.3 * chunked, inputs)
    assert chunked.item() == pytest.approx(plain.item(), rel=2e-6)
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert (one - two).abs().max() < 2e-5 * spread
    assert found[2][BEGIN] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("odd", [math.nan, -math.nan, math.inf])
def test_a_kernel_makes_no_loss_of_what_is_no_number(dtype: torch.dtype, odd: float) -> None:
    x, weight, bias, targets = _problem(torch.float32)
    with torch.no_grad():
        weight[17, 3] = odd
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        assert not math.isfinite(chunked_cross_entropy(x.abs(), weight, bias, targets).item())


def test_the_kernel_of_bfloat16_computes_in_float32_and_rounds_once() -> None:
    """The errors are the nearest bfloat16 of those of the given logits."""
    torch.manual_seed(0)
    logits = (4 * torch.randn(9, 300)).bfloat16()
    bias, targets = torch.linspace(-1, 1, 300), torch.arange(9)
    exact = (logits.double() + bias).softmax(1)
    wanted_nats = -exact[torch.arange(9), targets].log().sum()
    exact[torch.arange(9), targets] -= 1
    with RowThreads() as threads:
        found, nats, sums = chunked_loss._compiled_errors(threads, logits, bias, targets)
    assert found is logits
    assert nats.item() == pytest.approx(wanted_nats.item(), rel=1e-6)
    assert torch.allclose(sums.double(), exact.sum(0), rtol=0, atol=1e-6)
    # Half a step of the 8 bits, and a hair for what lies between two.
    assert ((found.double() - exact).abs() <= 2.0**-8 * exact.abs() * (1 + 1e-4)).all()


def test_exp_of_the_kernel() -> None:
    values = np.linspace(-90, 88, 10_001, dtype=np.float32)
    found = np.array([kernel_exp(value) for value in values])
    exact = np.exp(values.astype(np.float64))
    off = np.abs(found / exact - 1)
    assert off[np.abs(values) < 20].max() < 1.5e-7
    assert off[values >= -87].max() < 4e-7
    assert (found[values < -87] == 0).all()


def test_threads_change_the_loss_by_rounding_alone() -> None:
    x, weight, bias, targets = _problem(torch.float32)
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3, 30):
            torch.set_num_threads(count)
            loss = chunked_cross_entropy(x, weight, bias, targets)
            results.append([loss, *torch.autograd.grad(loss, (x, weight, bias))])
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        for one, two in zip(result, results[0], strict=True):
            assert torch.allclose(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("odd", [-1, 40])
def test_a_target_outside_of_the_ids_is_refused(odd: int) -> None:
    x, weight, bias, targets = _problem(torch.float32)
    targets[5] = odd
    with pytest.raises(IndexError, match="outside of the 40 ids"):
        chunked_cross_entropy(x, weight, bias, targets)


def test_threads_of_one_process_have_places_of_their_own() -> None:
    problem = _problem(torch.float32)
    wanted = torch.autograd.grad(chunked_cross_entropy(*problem), problem[:3])

    def found(_: int) -> tuple[Tensor, ...]:
        return torch.autograd.grad(chunked_cross_entropy(*problem), problem[:3])

    with ThreadPoolExecutor(3) as pool:
        for result in pool.map(found, range(60)):
            assert all(map(torch.equal, result, wanted))


def test_no_targets_make_no_loss() -> None:
    x, weight, bias, targets = _problem(torch.float32)
    loss = chunked_cross_entropy(x[:0], weight, bias, targets[:0])
    assert loss.item() == 0
    for grad in torch.autograd.grad(loss, (weight, bias)):
        assert not grad.any()


def test_chunked_loss_never_holds_all_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tensor that either pass makes is a chunk of logits or the matrix."""
    monkeypatch.setattr(chunked_loss, "LOGITS_AT_ONCE", 4 * 40)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            nonlocal largest
            made = func(*args, **(kwargs or {}))
            for one in made if isinstance(made, tuple | list) else [made]:
                largest = max(largest, one.numel() if isinstance(one, Tensor) else 0)
            return made

    x, weight, bias, targets = _problem(torch.float32)
    with Watch():
        chunked_cross_entropy(x, weight, bias, targets).backward()
    assert largest == max(4 * 40, weight.numel()) < 23 * 40


def test_chunked_loss_multiplies_in_the_precision_of_autocast() -> None:
    x, weight, bias, targets = _problem(torch.float32)
    exact = chunked_cross_entropy(x, weight, bias, targets)
    with torch.autocast("cpu", torch.bfloat16):
        rough = chunked_cross_entropy(x.bfloat16(), weight, bias, targets)
    assert rough.dtype == torch.float32
    assert rough.item() != exact.item()
    assert rough.item() == pytest.approx(exact.item(), rel=1e-2)
    rough.backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32


@pytest.mark.parametrize("tied", [True, False])
def test_a_chunked_head_trains_as_a_full_one(make_config: Configure, tied: bool) -> None:
    gradients = []
    for head in ("full", "chunked"):
        torch.manual_seed(0)
        network = Network(40, make_config(head=head, tied=tied))
        targets = torch.arange(2, 12)
        targets[3] = PADDING
        output = torch.linspace(-1, 1, 120).view(10, 12)
        network.total_nats(output, targets).backward()
        gradients.append({name: p.grad for name, p in network.named_parameters()})
    for name, one in gradients[0].items():
        two = gradients[1][name]
        assert (one is None) == (two is None), name
        assert one is None or torch.allclose(one, two, rtol=0, atol=1e-5), name


@pytest.mark.parametrize("spread", [1, 300])
@pytest.mark.parametrize("ids_at_once", [7, 13, 39, 40, 64])
def test_nats_by_slices_of_the_vocabulary_are_those_of_the_whole(
    ids_at_once: int, spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place and with gradients: the same nats, and the gradients of the plain loss."""
    monkeypatch.setattr(heads, "IDS_AT_ONCE", ids_at_once)
    monkeypatch.setattr(heads, "FEW_LOGITS", 1)
    torch.manual_seed(0)
    head = FullHead(6, 40, None).double()
    x = (spread * torch.randn(41, 6, dtype=torch.float64)).requires_grad_()
    assert head._has_small_logits(x.detach()) == (spread == 1)
    ids = torch.tensor([*range(BEGIN), *range(BEGIN + 1, 40), 2, 39])
    expected = functional.cross_entropy(head._logits(x), ids, reduction="none")
    nats = head.nats(x, ids)
    assert torch.allclose(nats, expected, rtol=1e-13, atol=1e-13)
    with torch.no_grad():
        assert torch.equal(head.nats(x, ids), nats)
    inputs = (x, head.weight, head.bias)
    upstream = torch.linspace(0.5, 2, 41, dtype=torch.float64)
    for one, two in zip(
        torch.autograd.grad(nats, inputs, upstream),
        torch.autograd.grad(expected, inputs, upstream),
        strict=True,
    ):
        assert torch.allclose(one, two, rtol=1e-11, atol=1e-11)


def test_large_logits_are_scored_in_float32_too() -> None:
    """exp of 200 is infinite there, and exp of -200 zero."""
    head = FullHead(1, 5, None)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.0], [0.0], [200], [199], [-200]]))
        for x in (1.0, -1.0):
            x_NE, ids = torch.full((3, 1), x), torch.tensor([2, 3, 4])
            expected = functional.cross_entropy(head._logits(x_NE), ids, reduction="none")
            assert head.nats(x_NE, ids).tolist() == pytest.approx(expected.tolist(), abs=1e-4)
        assert head.nats(torch.zeros(0, 1), torch.zeros(0, dtype=torch.int64)).shape == (0,)


def test_sums_of_many_large_powers_stay_finite() -> None:
    """exp of 79 fits into float32, and the sum of 40,000 of them does not."""
    head = FullHead(4, 40_000, None)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(79.0)
        nats = head.nats(torch.zeros(64, 4), torch.arange(2, 66))
    assert nats.tolist() == pytest.approx([math.log(39_999)] * 64, rel=1e-6)


def test_few_positions_take_all_ids_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many take slices; what is made stays bounded."""
    monkeypatch.setattr(heads, "IDS_AT_ONCE", 8)
    monkeypatch.setattr(heads, "FEW_LOGITS", 80)
    asked: list[tuple[int, int]] = []
    slice_of = heads._slice_of

    def watched(x: Tensor, weight: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        asked.append((len(x), len(weight)))
        return slice_of(x, weight, *rest)

    monkeypatch.setattr(heads, "_slice_of", watched)
    head = FullHead(6, 40, None)
    for positions in (1, 2, 4, 30):
        head.nats(torch.zeros(positions, 6), torch.full((positions,), 2))
    few = [(1, 40), (2, 40), (4, 20), (4, 20)]
    assert asked == few + [(30, 8)] * 5
    assert head.positions_at_once == 10


@pytest.mark.parametrize(
    ("size", "width", "published"),
    [(33_278, 200, 13_987_678), (33_278, 650, 50_065_078), (10_000, 200, 4_653_200)],
)
def test_untied_sizes_of_published_models(
    make_config: Configure, size: int, width: int, published: int
) -> None:
    """pytorch/examples on WikiText-2 and the small model of Zaremba et al. on PTB.

    The latter's count includes b_ih and b_hh, as here.
    """
    with torch.device("meta"):
        network = Network(size, make_config(embedding=width, hidden=width, tied=False))
    assert count_parameters(network) == published


@pytest.fixture
def untried() -> Iterator[None]:
    """The compiled loss as in a fresh process, before and after."""
    compiled_cross_entropy.cache_clear()
    yield
    compiled_cross_entropy.cache_clear()


def test_a_compiled_head_trains_as_a_full_one(
    make_config: Configure, monkeypatch: pytest.MonkeyPatch, untried: None
) -> None:
    """Traced and differentiated by the compiler; only its last step, to C++, is left out."""
    traced: list[Any] = []
    compile_ = torch.compile

    def fast(function: Any, **options: Any) -> Any:
        traced.append(options)
        return compile_(function, backend="aot_eager", **options)

    monkeypatch.setattr(torch, "compile", fast)
    torch.manual_seed(0)
    network, full = (Network(40, make_config(head=head)) for head in ("compiled", "full"))
    full.load_state_dict(network.state_dict())
    for n in (10, 7):
        output, targets = torch.randn(n, 12), torch.arange(2, 2 + n)
        targets[3] = PADDING
        totals = [made.total_nats(output, targets) for made in (network, full)]
        assert totals[0].item() == pytest.approx(totals[1].item(), rel=1e-6)
        for total in totals:
            total.backward()
    for one, two in zip(network.parameters(), full.parameters(), strict=True):
        assert (one.grad is None) == (two.grad is None)
        assert one.grad is None or torch.allclose(one.grad, two.grad, rtol=0, atol=1e-5)
    assert traced == [{"dynamic": True}]


def test_without_a_compiler_the_head_runs_in_chunks_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, untried: None
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        def run(*_: Any) -> Any:
            raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found\nmore")

        return run

    monkeypatch.setattr(torch, "compile", broken)
    assert compiled_cross_entropy(torch.device("cpu")) is chunked_cross_entropy
    assert "so it runs in chunks: InvalidCxxCompiler: No working C++ compiler found" in caplog.text
    assert "more" not in caplog.text
