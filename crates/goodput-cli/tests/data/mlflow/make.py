"""Made mlflow.db beside it, with mlflow 3.17.2: a run of Megatron-LM's arguments, one that fails, one of NeMo's dotted names.

    python make.py sqlite:///mlflow.db && gzip -9 mlflow.db
"""
import os, sys
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow
from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient

MEGATRON = dict(
    num_layers=32, hidden_size=4096, num_attention_heads=32, group_query_attention=True, num_query_groups=8, kv_channels=128,
    ffn_hidden_size=14336, swiglu=True, squared_relu=False, padded_vocab_size=128256, untie_embeddings_and_output_weights=True,
    normalization="RMSNorm", position_embedding_type="rope", add_bias_linear=False, num_experts=None, seq_length=8192,
    world_size=64, tensor_model_parallel_size=4, sequence_parallel=True, context_parallel_size=1, pipeline_model_parallel_size=2,
    virtual_pipeline_model_parallel_size=None, num_layers_per_virtual_pipeline_stage=None, data_parallel_size=8,
    use_distributed_optimizer=True, micro_batch_size=1, global_batch_size=256, bf16=True, fp16=False, fp8=None,
    recompute_granularity=None, overlap_grad_reduce=True, overlap_param_gather=True, hidden_dropout=0.0, attention_dropout=0.0,
    accumulate_allreduce_grads_in_fp32=True, optimizer="adam")
NEMO = {
    "model.num_layers": 32, "model.hidden_size": 4096, "model.num_attention_heads": 32, "model.num_query_groups": 8,
    "model.kv_channels": None, "model.ffn_hidden_size": 14336, "model.activation": "fast-swiglu", "model.normalization": "rmsnorm",
    "model.share_embeddings_and_output_weights": False, "model.encoder_seq_length": 8192, "trainer.devices": 8, "trainer.num_nodes": 4,
    "model.tensor_model_parallel_size": 2, "model.pipeline_model_parallel_size": 1, "model.context_parallel_size": 1,
    "model.sequence_parallel": True, "model.micro_batch_size": 2, "model.global_batch_size": 128,
    "model.activations_checkpoint_granularity": "selective", "trainer.precision": "bf16-mixed", "eval.micro_batch_size": 8,
    "model.optim.name": "distributed_fused_adam"}


def log(client, experiment, name, params, metric, values, status, at=1_760_000_000_000):
    run = client.create_run(experiment, start_time=at, run_name=name, tags={"made.by": "goodput"})
    metrics = []
    for step, value in values:
        at += int(1000 * 12)
        metrics.append(Metric(metric, value, at, step))
        metrics.append(Metric("train/loss", 10.0 / (1 + step), at, step))
    for i in range(0, len(metrics), 500):
        client.log_batch(run.info.run_id, metrics=metrics[i:i + 500])
    client.log_batch(run.info.run_id, params=[Param(k, str(v)) for k, v in params.items()])
    client.set_terminated(run.info.run_id, status, end_time=at)


def steps(of, warm=30.0, count=24):
    return [(0, warm)] + [(i, of + 0.01 * (i % 5 - 2)) for i in range(1, count)]


client = MlflowClient(sys.argv[1])
experiment = client.create_experiment("pretrain-8b")
log(client, experiment, "megatron-8b", MEGATRON, "perf/step_time_s", steps(12.0), "FINISHED")
log(client, experiment, "megatron-8b-failed", MEGATRON, "iteration-time", steps(12.1) + [(20 + i, 12.1) for i in range(6)], "FAILED")
log(client, experiment, "nemo-8b", NEMO, "train_step_timing in s", steps(9.0), "FINISHED")
