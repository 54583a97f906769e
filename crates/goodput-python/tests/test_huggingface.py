"""The callback in a real Trainer."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from fleet_goodput import TimelineRecorder  # noqa: E402
from fleet_goodput.huggingface import TimelineCallback  # noqa: E402


class Model(torch.nn.Module):
    main_input_name = "input_ids"

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.head = torch.nn.Linear(4, 8)

    def forward(self, input_ids, attention_mask=None, labels=None):
        logits = self.head(self.embed(input_ids))
        return {"loss": torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


def data(rows):
    row = {
        "input_ids": torch.tensor([1, 2, 3, 0]),
        "attention_mask": torch.tensor([1, 1, 1, 0]),
        "labels": torch.tensor([2, 3, 4, 0]),
    }
    return [row] * rows


def train(recorder, folder, callbacks=(), **kwargs):
    arguments = dict(
        output_dir=str(folder), max_steps=6, per_device_train_batch_size=2, gradient_accumulation_steps=2,
        save_steps=2, eval_strategy="steps", eval_steps=3, logging_steps=2, use_cpu=True, report_to=[],
        disable_tqdm=True, include_num_input_tokens_seen="non_padding", seed=1,
    )
    trainer = transformers.Trainer(
        model=Model(), args=transformers.TrainingArguments(**arguments), train_dataset=data(64), eval_dataset=data(4),
        callbacks=[TimelineCallback(recorder), *callbacks],
    )
    with recorder:
        trainer.train(**kwargs)


class Fault(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5:
            raise RuntimeError("a fault")


def test_a_run_with_a_fault_and_its_resumption(log, tmp_path):
    header = dict(job="1", devices=1, commits=True)
    with pytest.raises(RuntimeError):
        train(TimelineRecorder(log.path, **header), tmp_path, [Fault()])
    assert log.events("stop")[0]["cause"] == "fault"
    train(TimelineRecorder(log.path, **header), tmp_path, resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert log.steps() == [0, 1, 2, 3, 4, 4, 5]
    assert [line["step"] for line in log.events("commit")] == [1, 3, 5]
    assert [line["step"] for line in log.events("restore")] == [3]
    assert len(log.phases("evaluation")) == 2 and len(log.phases("checkpoint_pause")) == 3
    assert log.events("stop")[-1]["cause"] == "finished"
    # 2 rows x 2 micro-batches x 3 real tokens.
    assert {line.get("tokens") for line in log.lines() if "step" in line and "start" in line} == {12}
    steps = log.report().steps
    assert (steps.executed, steps.retained, steps.discarded, steps.pending) == (7, 6, 1, 0)


def test_a_rank_that_does_not_record(tmp_path):
    recorder = TimelineRecorder(tmp_path / "run.jsonl", enabled=False)
    train(recorder, tmp_path)
    assert not (tmp_path / "run.jsonl").exists()
