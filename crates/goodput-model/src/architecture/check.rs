//! Sizes that a model can have, so that every product of them is exact.

use std::collections::BTreeSet;

use super::{
    Architecture, ArchitectureError, Attention, Blocks, DiffusionTransformer, FeedForward, LatentAttention,
    Mixer, TextModel, VisionTower,
};
use crate::operations::{Operations, Unit};
use crate::training::{Module, Training};

/// Channels, heads, layers, experts.
const LARGEST_SIZE: u64 = 1 << 20;
/// Rows of an embedding.
const LARGEST_VOCABULARY: u64 = 1 << 26;
/// Sides of patches and merged cells.
const LARGEST_SIDE: u64 = 1 << 6;
/// Groups of equal blocks.
const MOST_GROUPS: usize = 1 << 12;
/// With the most tokens of a batch these keep every sum inside 128 bits.
const MOST_FLOPS_A_TOKEN: u128 = 1 << 74;
const MOST_FLOPS_A_PAIR: u128 = 1 << 28;

impl Architecture {
    /// That every size is one that a model can have, heads divide, and all counts stay exact.
    ///
    /// # Errors
    /// [`ArchitectureError::Invalid`] names the field, [`ArchitectureError::TooLarge`] the product.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let check = Check { name: &self.name };
        if let Some(text) = &self.text {
            check.text(text)?;
        }
        if let Some(vision) = &self.vision {
            check.vision(vision)?;
        }
        if let Some(diffusion) = &self.diffusion {
            check.diffusion(diffusion)?;
        }
        if self.text.is_none() && self.vision.is_none() && self.diffusion.is_none() {
            return Err(ArchitectureError::Missing {
                name: self.name.clone(),
                field: "text, vision or diffusion".to_owned(),
                expected: "at least one of them",
            });
        }
        let merged = self.vision.as_ref().and_then(|tower| tower.merger).map(|merger| merger.outputs);
        if let (Some(text), Some(outputs)) = (&self.text, merged)
            && outputs != text.width
        {
            let expected = format!("the width of the text model ({})", text.width);
            return Err(check.invalid("vision.merger.outputs".to_owned(), outputs, expected));
        }
        check.products(self, &Training::full())
    }

    /// That too, and that every adapter stands beside a matrix and leaves all counts exact.
    pub(crate) fn check_under(&self, training: &Training) -> Result<(), ArchitectureError> {
        self.check()?;
        let check = Check { name: &self.name };
        check.adapters(self, training)?;
        check.products(self, training)
    }
}

struct Check<'a> {
    name: &'a str,
}

type Checked = Result<(), ArchitectureError>;

impl Check<'_> {
    fn invalid(&self, field: String, value: u64, expected: String) -> ArchitectureError {
        ArchitectureError::Invalid { name: self.name.to_owned(), field, value: value.to_string(), expected }
    }

    /// Every value from `least` to `most`.
    fn within(&self, at: &str, least: u64, most: u64, sizes: &[(&str, u64)]) -> Checked {
        match sizes.iter().find(|(_, value)| *value < least || *value > most) {
            Some((field, value)) => {
                Err(self.invalid(format!("{at}.{field}"), *value, format!("{least} to {most}")))
            }
            None => Ok(()),
        }
    }

    fn sizes(&self, at: &str, sizes: &[(&str, u64)]) -> Checked {
        self.within(at, 1, LARGEST_SIZE, sizes)
    }

    fn divides(&self, at: &str, field: &str, value: u64, whole: u64, of: &str) -> Checked {
        if value > 0 && whole.is_multiple_of(value) {
            return Ok(());
        }
        Err(self.invalid(format!("{at}.{field}"), value, format!("a divisor of {of} ({whole})")))
    }

    fn groups(&self, at: &str, groups: usize, least: usize) -> Checked {
        if (least..=MOST_GROUPS).contains(&groups) {
            return Ok(());
        }
        Err(self.invalid(at.to_owned(), groups as u64, format!("{least} to {MOST_GROUPS} groups of blocks")))
    }

    fn text(&self, text: &TextModel) -> Checked {
        self.sizes("text", &[("width", text.width)])?;
        self.within("text", 1, LARGEST_VOCABULARY, &[("vocabulary", text.vocabulary)])?;
        let counts = [("positions", text.positions), ("token_types", text.token_types)];
        self.within("text", 0, LARGEST_VOCABULARY, &counts)?;
        let counts = [
            ("relative_buckets", text.relative_buckets),
            ("multi_token_prediction", text.multi_token_prediction),
        ];
        self.within("text", 0, LARGEST_SIZE, &counts)?;
        self.groups("text.encoder", text.encoder.len(), 0)?;
        self.groups("text.decoder", text.decoder.len(), 1)?;
        for (stack, groups) in [("encoder", &text.encoder), ("decoder", &text.decoder)] {
            for (index, group) in groups.iter().enumerate() {
                self.blocks(&format!("text.{stack}[{index}]"), group)?;
            }
        }
        if text.encoder.is_empty() && text.decoder.iter().any(|group| group.cross_attention.is_some()) {
            return Err(ArchitectureError::Missing {
                name: self.name.to_owned(),
                field: "text.encoder".to_owned(),
                expected: "the blocks whose output the cross attention of the decoder reads",
            });
        }
        Ok(())
    }

    fn blocks(&self, at: &str, group: &Blocks) -> Checked {
        self.sizes(at, &[("blocks", group.blocks)])?;
        self.within(at, 0, LARGEST_SIZE, &[("norms", group.norms.unwrap_or(0))])?;
        self.mixer(&format!("{at}.mixer"), &group.mixer)?;
        if let Some(attention) = &group.cross_attention {
            self.attention(&format!("{at}.cross_attention"), attention)?;
        }
        self.feed_forward(&format!("{at}.feed_forward"), &group.feed_forward)
    }

    fn mixer(&self, at: &str, mixer: &Mixer) -> Checked {
        match mixer {
            Mixer::None => Ok(()),
            Mixer::Attention(attention) => self.attention(at, attention),
            Mixer::LatentAttention(attention) => self.latent_attention(at, attention),
            Mixer::Mamba1(mamba) => self.sizes(
                at,
                &[
                    ("inner", mamba.inner),
                    ("state", mamba.state),
                    ("time_step_rank", mamba.time_step_rank),
                    ("kernel", mamba.kernel),
                ],
            ),
            Mixer::Mamba2(mamba) => self.sizes(
                at,
                &[
                    ("heads", mamba.heads),
                    ("head_dim", mamba.head_dim),
                    ("state", mamba.state),
                    ("groups", mamba.groups),
                    ("kernel", mamba.kernel),
                ],
            ),
            Mixer::GatedDeltaNet(net) => self.sizes(
                at,
                &[
                    ("key_heads", net.key_heads),
                    ("key_head_dim", net.key_head_dim),
                    ("value_heads", net.value_heads),
                    ("value_head_dim", net.value_head_dim),
                    ("kernel", net.kernel),
                ],
            ),
        }
    }

    fn attention(&self, at: &str, attention: &Attention) -> Checked {
        let Attention { heads, kv_heads, head_dim, .. } = *attention;
        self.sizes(at, &[("heads", heads), ("kv_heads", kv_heads), ("head_dim", head_dim)])?;
        self.divides(at, "kv_heads", kv_heads, heads, "heads")
    }

    fn latent_attention(&self, at: &str, attention: &LatentAttention) -> Checked {
        let sizes = [
            ("heads", attention.heads),
            ("q_rank", attention.q_rank.unwrap_or(1)),
            ("kv_rank", attention.kv_rank),
            ("nope_head_dim", attention.nope_head_dim),
            ("rope_head_dim", attention.rope_head_dim),
            ("v_head_dim", attention.v_head_dim),
        ];
        self.sizes(at, &sizes)
    }

    fn feed_forward(&self, at: &str, feed_forward: &FeedForward) -> Checked {
        match feed_forward {
            FeedForward::None => Ok(()),
            FeedForward::Dense(dense) => self.sizes(at, &[("inner", dense.inner)]),
            FeedForward::Experts(experts) => {
                self.sizes(at, &[("experts", experts.experts), ("inner", experts.inner)])?;
                self.within(at, 1, experts.experts, &[("active", experts.active)])?;
                self.within(at, 0, LARGEST_SIZE, &[("shared_inner", experts.shared_inner)])
            }
        }
    }

    fn vision(&self, tower: &VisionTower) -> Checked {
        let at = "vision";
        self.sizes(at, &[("width", tower.width), ("channels", tower.channels)])?;
        let sides = [("patch_size", tower.patch_size), ("temporal_patch_size", tower.temporal_patch_size)];
        self.within(at, 1, LARGEST_SIDE, &sides)?;
        let counts = [("positions", tower.positions), ("classes", tower.classes)];
        self.within(at, 0, LARGEST_VOCABULARY, &counts)?;
        self.groups("vision.blocks", tower.blocks.len(), 1)?;
        for (index, group) in tower.blocks.iter().enumerate() {
            let at = format!("vision.blocks[{index}]");
            let sizes = [
                ("blocks", group.blocks),
                ("heads", group.heads),
                ("inner", group.inner),
                ("window", group.window.unwrap_or(1)),
            ];
            self.sizes(&at, &sizes)?;
            self.divides(&at, "heads", group.heads, tower.width, "width")?;
        }
        let Some(merger) = &tower.merger else { return Ok(()) };
        self.within("vision.merger", 1, LARGEST_SIDE, &[("side", merger.side)])?;
        self.sizes("vision.merger", &[("outputs", merger.outputs)])?;
        self.within("vision.merger", 0, LARGEST_SIDE, &[("deepstack", merger.deepstack)])
    }

    fn diffusion(&self, model: &DiffusionTransformer) -> Checked {
        let at = "diffusion";
        match model {
            DiffusionTransformer::Patch(model) => {
                let sizes = [
                    ("blocks", model.blocks),
                    ("heads", model.heads),
                    ("head_dim", model.head_dim),
                    ("channels", model.channels),
                    ("outputs", model.outputs),
                ];
                self.sizes(at, &sizes)?;
                self.within(at, 0, LARGEST_SIZE, &[("classes", model.classes)])?;
                self.within(at, 1, LARGEST_SIDE, &[("patch_size", model.patch_size)])
            }
            DiffusionTransformer::DoubleStream(model) => {
                let sizes = [
                    ("heads", model.heads),
                    ("head_dim", model.head_dim),
                    ("channels", model.channels),
                    ("prompt_channels", model.prompt_channels),
                    ("pooled_channels", model.pooled_channels),
                ];
                self.sizes(at, &sizes)?;
                let blocks = [("double_blocks", model.double_blocks), ("single_blocks", model.single_blocks)];
                self.within(at, 0, LARGEST_SIZE, &blocks)
            }
        }
    }

    /// An adapter beside no matrix would be counted as nothing.
    fn adapters(&self, architecture: &Architecture, training: &Training) -> Checked {
        let adapted: BTreeSet<Module> = training.adapted().collect();
        if adapted.is_empty() {
            return Ok(());
        }
        self.sizes("adapter", &[("rank", training.rank())])?;
        let has = Operations::of(architecture, &Training::none()).matrices;
        // Of the usual seven a model may lack some: an ungated network has no gate.
        let usual = BTreeSet::from(Module::BLOCK_PROJECTIONS);
        if adapted == usual && !has.is_disjoint(&usual) {
            return Ok(());
        }
        let Some(module) = adapted.difference(&has).next() else { return Ok(()) };
        let names: Vec<&str> = has.iter().map(|module| module.name()).collect();
        Err(ArchitectureError::Invalid {
            name: self.name.to_owned(),
            field: "adapter.targets".to_owned(),
            value: module.name().to_owned(),
            expected: format!("a module with a matrix in this model: {}", names.join(", ")),
        })
    }

    fn products(&self, architecture: &Architecture, training: &Training) -> Checked {
        let operations = Operations::of(architecture, training);
        let sum = |is_pair: bool| {
            let terms = operations.terms.iter().filter(|term| is_pairs(term.unit) == is_pair);
            terms.map(|term| term.forward).sum::<u128>()
        };
        let too_large = |what| ArchitectureError::TooLarge { name: self.name.to_owned(), what };
        if sum(false) > MOST_FLOPS_A_TOKEN {
            return Err(too_large("the FLOPs of one token"));
        }
        if sum(true) > MOST_FLOPS_A_PAIR {
            return Err(too_large("the FLOPs of one attention pair"));
        }
        Ok(())
    }
}

const fn is_pairs(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Pairs(_)
            | Unit::SourcePairs
            | Unit::CrossPairs
            | Unit::JointPairs
            | Unit::FramePairs { .. }
            | Unit::WindowPairs { .. }
    )
}
