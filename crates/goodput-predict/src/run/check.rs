//! Whether a run can be: each field against the others.

use goodput_model::architecture::{Blocks, FeedForward, Mixer, TextModel};

use super::{ContextMethod, Precision, Recompute, Run, Schedule, Sharding};
use crate::kernel::{AttentionKernel, KernelTables};

/// Why a run cannot be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The file is no YAML, or not of this form.
    #[error("{label}: {message}")]
    Yaml {
        /// The file as the user named it.
        label: String,
        /// What is wrong, with its line.
        message: String,
    },
    /// A field that cannot be right.
    #[error("{label}, field {field}: {message}")]
    Field {
        /// The file as the user named it.
        label: String,
        /// The field.
        field: String,
        /// What was found, what was expected and what to write.
        message: String,
    },
}

impl Run {
    /// Whether model, cluster, layout and batch fit each other. `label` is the file's name, for errors.
    ///
    /// # Errors
    /// [`RunError::Field`] names the first field that does not fit, what was found and the remedy.
    pub fn check(&self, label: &str) -> Result<(), RunError> {
        let check = Check { run: self, label };
        check.layout()?;
        check.sizes()?;
        check.batch()?;
        check.device()?;
        check.switches()?;
        check.model()
    }

    /// The same of what no layout changes.
    pub(crate) fn check_without_layout(&self, label: &str) -> Result<(), RunError> {
        let check = Check { run: self, label };
        check.sizes()?;
        check.device()
    }

    /// Whether the device runs the attention kernel that the framework names.
    ///
    /// # Errors
    /// [`RunError::Field`] names the kernels that it runs.
    pub(crate) fn check_attention(&self, label: &str) -> Result<(), RunError> {
        let (Some(stated), Ok(device)) = (self.framework.attention, self.cluster.find_device()) else {
            return Ok(());
        };
        let kernels = KernelTables::new(device).attention_kernels();
        if kernels.contains(&stated) {
            return Ok(());
        }
        let known = kernels.into_iter().map(AttentionKernel::name).collect::<Vec<_>>().join(", ");
        let message = format!("{} has no {} kernel: write one of {known}", device.name, stated.name());
        Check { run: self, label }.field("framework.attention_kernel", message)
    }

    /// The text model, which is what can be predicted.
    ///
    /// # Errors
    /// [`RunError::Field`] for a vision, diffusion or encoder model.
    pub fn text(&self, label: &str) -> Result<&TextModel, RunError> {
        let model = &self.architecture;
        let refuse = |found: &str| {
            Check { run: self, label }.field("model", format!(
                "{} has {found}, whose kernels are not listed yet: give a decoder of attention or latent-attention blocks",
                model.name
            ))
        };
        if model.vision.is_some() {
            return refuse("a vision tower");
        }
        let Some(text) = &model.text else { return refuse("no text model") };
        if !text.encoder.is_empty() {
            return refuse("an encoder");
        }
        for blocks in &text.decoder {
            if !matches!(blocks.mixer, Mixer::Attention(_) | Mixer::LatentAttention(_)) {
                return refuse("blocks without softmax attention");
            }
        }
        Ok(text)
    }
}

/// Tokens of a sequence, sequences, tokens of a micro-batch, layers, parameters.
const LONGEST_SEQUENCE: u64 = 1 << 24;
const LARGEST_BATCH: u64 = 1 << 30;
const MOST_TOKENS: u64 = 1 << 28;
const MOST_LAYERS: u64 = 1 << 14;
const MOST_PARAMETERS: f64 = 1e17;

struct Check<'a> {
    run: &'a Run,
    label: &'a str,
}

type Checked = Result<(), RunError>;

impl Check<'_> {
    fn field<T>(&self, field: &str, message: String) -> Result<T, RunError> {
        Err(RunError::Field { label: self.label.to_owned(), field: field.to_owned(), message })
    }

    fn divides(&self, field: &str, degree: u64, whole: u64, of: &str) -> Checked {
        if degree > 0 && whole.is_multiple_of(degree) {
            return Ok(());
        }
        self.field(field, format!("{degree} does not divide {of} ({whole}): choose a divisor of it"))
    }

    /// Sizes with which every sum stays a number, far above what is trained.
    fn sizes(&self) -> Checked {
        let batch = &self.run.batch;
        for (field, found, most) in [
            ("batch.sequence", batch.sequence, LONGEST_SEQUENCE),
            ("batch.micro", batch.micro, LARGEST_BATCH),
            ("batch.global", batch.global, LARGEST_BATCH),
            ("batch.micro", batch.micro.saturating_mul(batch.sequence), MOST_TOKENS),
        ] {
            if found == 0 {
                return self.field(field, "0 is not possible: give at least 1".to_owned());
            }
            if found > most {
                let what = if most == MOST_TOKENS { " tokens of a micro-batch" } else { "" };
                return self.field(field, format!("{found}{what} is too large: give at most {most}"));
            }
        }
        let text = self.run.text(self.label)?;
        let layers = text.decoder.iter().fold(0u64, |sum, blocks| sum.saturating_add(blocks.blocks));
        if layers > MOST_LAYERS {
            return self.field("model", format!("{layers} layers are too many: give at most {MOST_LAYERS}"));
        }
        // At most, since what is shared or compressed is less.
        let of_blocks = |blocks: &Blocks| {
            let inner = match &blocks.feed_forward {
                FeedForward::None => 0.0,
                FeedForward::Dense(dense) => dense.inner as f64,
                FeedForward::Experts(experts) => {
                    experts.experts as f64 * (experts.inner + 1) as f64 + experts.shared_inner as f64
                }
            };
            let heads = match &blocks.mixer {
                Mixer::Attention(attention) => (attention.heads * attention.head_dim) as f64,
                Mixer::LatentAttention(latent) => (latent.heads * latent.qk_head_dim()) as f64,
                _ => 0.0,
            };
            blocks.blocks as f64 * text.width as f64 * (3.0 * inner + 6.0 * heads)
        };
        let parameters = text.decoder.iter().map(of_blocks).sum::<f64>()
            + 2.0 * text.vocabulary as f64 * text.width as f64;
        if parameters > MOST_PARAMETERS {
            let message =
                format!("about {parameters:.0e} parameters are too many: give at most {MOST_PARAMETERS:.0e}");
            return self.field("model", message);
        }
        Ok(())
    }

    /// Experts' loads and what is offloaded.
    fn switches(&self) -> Checked {
        let run = self.run;
        let most = f64::from(run.layout.expert.max(1));
        if !(run.expert_imbalance >= 1.0 && run.expert_imbalance <= most) {
            let message = format!(
                "{} is not possible: the busiest of {most} expert ranks has 1 to {most} times the mean",
                run.expert_imbalance
            );
            return self.field("expert_imbalance", message);
        }
        if !(0.0..=1.0).contains(&run.offload.activations) {
            let message = format!("{} is no share: give 0 to 1", run.offload.activations);
            return self.field("offload.activations", message);
        }
        let offloads = run.offload.activations > 0.0 || run.offload.optimizer;
        if offloads && run.cluster.host.link_gb_per_s.is_none() {
            let message = format!(
                "{}'s link to its host is not known: give cluster.host.link_gb_per_s",
                run.cluster.name
            );
            return self.field("offload", message);
        }
        Ok(())
    }

    fn layout(&self) -> Checked {
        let layout = &self.run.layout;
        let degrees = [
            ("layout.tp", layout.tensor),
            ("layout.cp", layout.context),
            ("layout.pp", layout.pipeline),
            ("layout.dp", layout.data),
            ("layout.ep", layout.expert),
            ("layout.etp", layout.expert_tensor),
            ("devices", self.run.devices),
        ];
        if let Some((field, _)) = degrees.iter().find(|(_, degree)| *degree == 0) {
            return self.field(field, "0 is not possible: give at least 1".to_owned());
        }
        let product = [layout.tensor, layout.context, layout.pipeline, layout.data]
            .into_iter()
            .fold(1u128, |product, degree| product * u128::from(degree));
        if product != u128::from(self.run.devices) {
            let message = format!(
                "tp {} x cp {} x pp {} x dp {} = {product} is not the {} devices: change a degree or `devices`",
                layout.tensor, layout.context, layout.pipeline, layout.data, self.run.devices
            );
            return self.field("layout", message);
        }
        if layout.sequence_parallel && layout.tensor == 1 {
            return self.field(
                "layout.sp",
                "sequence parallelism splits over tensor ranks: set tp above 1, or sp: false".to_owned(),
            );
        }
        let pairs = matches!(
            layout.schedule,
            Schedule::OneForwardOneBackward | Schedule::Interleaved { .. } | Schedule::DualPipe
        );
        if layout.overlap_experts && !pairs {
            return self.field(
                "layout.overlap_experts",
                "this schedule runs no forward pass beside a backward pass: choose 1f1b, interleaved or dualpipe"
                    .to_owned(),
            );
        }
        let of_a_stage = u64::from(layout.tensor) * u64::from(layout.context) * u64::from(layout.data);
        let experts = u64::from(layout.expert) * u64::from(layout.expert_tensor);
        self.divides("layout.ep", experts, of_a_stage, "the devices of a stage, tp x cp x dp, as ep x etp")?;
        if layout.shard_size.is_some() && layout.sharding == Sharding::None {
            return self.field(
                "layout.shard_size",
                "nothing is sharded: set zero to 1, 2 or 3, or leave shard_size out".to_owned(),
            );
        }
        if let Some(size) = layout.shard_size {
            self.divides(
                "layout.shard_size",
                size.into(),
                u64::from(layout.data) * u64::from(layout.context),
                "the replicas, dp x cp",
            )?;
        }
        let in_a_node = u64::from(self.run.cluster.devices_per_node);
        if let Some(nodes) = self.run.cluster.nodes
            && u64::from(nodes) * in_a_node < u64::from(self.run.devices)
        {
            let message = format!(
                "{} are more than the {nodes} x {in_a_node} of {}: ask for fewer or raise `nodes`",
                self.run.devices, self.run.cluster.name
            );
            return self.field("devices", message);
        }
        if u64::from(self.run.devices) > in_a_node && self.run.cluster.network.is_none() {
            return self.field("cluster", format!(
                "{} has no network and {in_a_node} devices a node: give its `network`, or at most {in_a_node} devices",
                self.run.cluster.name
            ));
        }
        Ok(())
    }

    fn batch(&self) -> Checked {
        let (batch, layout) = (&self.run.batch, &self.run.layout);
        let Some(count) = self.run.micro_batches() else {
            return self.field("batch.global", format!(
                "{} sequences do not split into micro-batches of {} on {} replicas: give a multiple of {}",
                batch.global, batch.micro, layout.data, batch.micro * u64::from(layout.data)
            ));
        };
        // Ring and gathered context hold an early and a late chunk of the sequence each.
        let chunks = if layout.context == 1 { 1 } else { 2 * u64::from(layout.context) };
        self.divides("batch.sequence", chunks, batch.sequence, "the sequence, in chunks of 2 x cp")?;
        let split = u64::from(if layout.sequence_parallel { layout.tensor } else { 1 });
        let tokens = batch.sequence / u64::from(layout.context);
        self.divides("layout.sp", split, tokens, "the tokens of a context rank, as tp")?;
        if let Schedule::Interleaved { .. } = layout.schedule {
            self.divides(
                "layout.pp",
                layout.pipeline.into(),
                count,
                "the micro-batches of an interleaved schedule",
            )?;
        }
        Ok(())
    }

    fn device(&self) -> Checked {
        let device = match self.run.cluster.find_device() {
            Ok(device) => device,
            Err(error) => return self.field("cluster.device", error.to_string()),
        };
        let precision = &self.run.precision;
        if precision.runs_on(device) {
            return Ok(());
        }
        let lacks = match device.peak(precision.products.dtype()) {
            Ok(_) => format!(
                "{} has no tensor cores for {}, which came with those for fp4",
                device.name, precision.recipe
            ),
            Err(error) => error.to_string(),
        };
        let known = Precision::recipes_of(device).collect::<Vec<_>>().join(", ");
        let remedy =
            if known.is_empty() { String::new() } else { format!("write one that it has ({known}), or ") };
        self.field("precision", format!("{lacks}; {remedy}state `dense_peaks` in a device file"))
    }

    fn model(&self) -> Checked {
        let layout = &self.run.layout;
        let text = self.run.text(self.label)?;
        let layers: u64 = text.decoder.iter().map(|blocks| blocks.blocks).sum();
        let parts = u64::from(layout.pipeline) * u64::from(self.run.parts());
        let [first, last] = layout.uneven_ends.map(u64::from);
        if first.max(last) > layers {
            let message = format!("{first} and {last} are more than the model's {layers} layers: give fewer");
            return self.field("layout.uneven_ends", message);
        }
        if layers + first + last < parts {
            return self.field(
                "layout.pp",
                format!(
                    "{parts} parts for {layers} layers: choose pp x vpp of at most {}",
                    layers + first + last
                ),
            );
        }
        let each = (layers + first + last) / parts;
        let of_a_stage = each * u64::from(self.run.parts());
        if let Recompute::Layers(again) = self.run.recompute
            && u64::from(again) > of_a_stage
        {
            let message = format!(
                "{again} are more than the {of_a_stage} layers of a stage: give fewer, or write full"
            );
            return self.field("recompute.layers", message);
        }
        self.divides(
            "layout.pp",
            parts,
            layers + first + last,
            "the layers (with those that the ends lack), as pp x vpp",
        )?;
        if first.max(last) > each || (parts == 1 && first + last > 0) {
            return self.field(
                "layout.uneven_ends",
                format!("the ends lack more than their {each} layers: give fewer"),
            );
        }
        let tensor = u64::from(layout.tensor);
        for blocks in &text.decoder {
            let (heads, kv_heads) = match &blocks.mixer {
                Mixer::Attention(attention) => (attention.heads, attention.kv_heads),
                Mixer::LatentAttention(attention) => (attention.heads, attention.heads),
                _ => continue,
            };
            self.divides("layout.tp", tensor, heads, "the query heads")?;
            // Fewer key and value heads than ranks are held several times.
            if kv_heads >= tensor {
                self.divides("layout.tp", tensor, kv_heads, "the key and value heads")?;
            } else {
                self.divides(
                    "layout.tp",
                    kv_heads,
                    tensor,
                    "tp, in which key and value heads are held several times",
                )?;
            }
            if layout.context_method == ContextMethod::Ulysses {
                self.divides(
                    "layout.cp",
                    tensor * u64::from(layout.context),
                    heads,
                    "the query heads, as tp x cp under ulysses",
                )?;
            }
            match &blocks.feed_forward {
                FeedForward::Dense(dense) => {
                    self.divides("layout.tp", tensor, dense.inner, "the inner width")?
                }
                FeedForward::Experts(experts) => {
                    self.divides("layout.ep", layout.expert.into(), experts.experts, "the experts")?;
                    self.divides(
                        "layout.etp",
                        layout.expert_tensor.into(),
                        experts.inner,
                        "the experts' inner width",
                    )?;
                }
                FeedForward::None => {}
            }
        }
        if layout.expert > 1
            && !text.decoder.iter().any(|blocks| matches!(blocks.feed_forward, FeedForward::Experts(_)))
        {
            return self.field(
                "layout.ep",
                format!("{} has no experts to spread: set ep to 1", self.run.architecture.name),
            );
        }
        Ok(())
    }
}
