"""Small ONNX models whose answers can be computed by hand, and a slow one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, helper, save
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("[UNK]", "[CLS]", "[SEP]", "deploy", "tuesday", "staging", "database", "friday")
ID = {word: place for place, word in enumerate(WORDS)}
PAIR = ["input_ids", "attention_mask", "token_type_ids"]


def write_tokenizer(folder: Path) -> None:
    """Write a tokenizer that numbers words by their position in WORDS; the text and its end are of
    type 1, the rest of type 0.
    """
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ID["[CLS]"]), ("[SEP]", ID["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def _model(
    nodes: Sequence[NodeProto], inputs: Sequence[str], constants: Sequence[TensorProto]
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "pairs",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def summing_model(inputs: Sequence[str] = tuple(PAIR), scores: int = 1) -> ModelProto:
    """Return a model that scores a pair by the sum of its text's token ids (of all tokens without
    token types), times 1, 2, ... `scores`.
    """
    typed = "token_type_ids" in inputs
    nodes = [
        helper.make_node("Mul", ["input_ids", "token_type_ids" if typed else "one"], ["counted"]),
        helper.make_node("Cast", ["counted"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["numbers", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "factors"], ["logits"]),
    ]
    factors = [float(place + 1) for place in range(scores)]
    constants = [
        helper.make_tensor("one", TensorProto.INT64, [], [1]),
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("factors", TensorProto.FLOAT, [scores], factors),
    ]
    return _model(nodes, inputs, constants)


def slow_model(rounds: int) -> ModelProto:
    """Return a model that multiplies matrices, round after round."""
    size = 64
    shape = [size, size]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_in"], ["go_out"]),
            helper.make_node("MatMul", ["x_in", "weights"], ["product"]),
            helper.make_node("Tanh", ["product"], ["x_out"]),
        ],
        "round",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x_in", TensorProto.FLOAT, shape),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x_out", TensorProto.FLOAT, shape),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["rounds", "go", "start"], ["end"], body=body),
        helper.make_node("ReduceSum", ["end"], ["logits"], keepdims=0),
    ]
    weights = [0.01] * (size * size)
    constants = [
        helper.make_tensor("rounds", TensorProto.INT64, [], [rounds]),
        helper.make_tensor("go", TensorProto.BOOL, [], [True]),
        helper.make_tensor("start", TensorProto.FLOAT, shape, weights),
        helper.make_tensor("weights", TensorProto.FLOAT, shape, weights),
    ]
    return _model(nodes, ["input_ids"], constants)


def write_folder(folder: Path, model: ModelProto) -> Path:
    write_tokenizer(folder)
    save(model, str(folder / "model.onnx"))
    return folder
