"""The callback in a real Trainer."""

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")

from fleet_goodput import TimelineRecorder  # noqa: E402
from fleet_goodput.lightning import TimelineCallback  # noqa: E402


class Model(lightning.LightningModule):
    def __init__(self, fault_at=None):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.fault_at = fault_at

    def training_step(self, batch, index):
        if self.global_step == self.fault_at:
            raise RuntimeError("a fault")
        return self.layer(batch[0]).square().mean()

    def validation_step(self, batch, index):
        self.log("val_loss", self.layer(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loader(rows):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(rows, 4)), batch_size=2)


def fit(recorder, folder, model, checkpoint=None):
    trainer = lightning.Trainer(
        max_steps=6, accumulate_grad_batches=2, accelerator="cpu", devices=1, logger=False, val_check_interval=8,
        num_sanity_val_steps=1, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[
            TimelineCallback(recorder, tokens=lambda batch: batch[0].numel()),
            lightning.callbacks.ModelCheckpoint(folder, every_n_train_steps=2, save_top_k=-1, filename="{step}"),
        ],
    )
    with recorder:
        trainer.fit(model, loader(64), loader(4), ckpt_path=checkpoint)


def test_a_run_with_a_fault_and_its_resumption(log, tmp_path):
    header = dict(job="1", devices=1, commits=True)
    with pytest.raises(RuntimeError):
        fit(TimelineRecorder(log.path, **header), tmp_path, Model(fault_at=5))
    assert log.events("stop")[0]["cause"] == "fault"
    fit(TimelineRecorder(log.path, **header), tmp_path, Model(), str(tmp_path / "step=4.ckpt"))
    assert log.steps() == [0, 1, 2, 3, 4, 4, 5]
    # Lightning saves the state of step 3 once more when it has resumed in the middle of an accumulation.
    assert [line["step"] for line in log.events("commit")] == [1, 3, 3, 5]
    assert [line["step"] for line in log.events("restore")] == [3]
    assert log.phases("evaluation") and log.events("stop")[-1]["cause"] == "finished"
    assert {line.get("tokens") for line in log.lines() if "step" in line and "start" in line} == {16}
    steps = log.report().steps
    assert (steps.executed, steps.retained, steps.discarded, steps.pending) == (7, 6, 1, 0)
