//! The walk over a vision tower.

use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{Merger, VisionBlocks, VisionTower};
use crate::flops::Component;
use crate::training::Module;

impl Operations<'_> {
    /// Says whether what the tower hands on needs a gradient.
    pub(super) fn vision(&mut self, tower: &VisionTower) -> NeedsGradient {
        let width = tower.width;
        let class_tokens = u64::from(tower.class_token);
        let pixels = tower.channels * tower.patch_size * tower.patch_size * tower.temporal_patch_size;
        let patch = Linear::new(Component::PatchEmbedding, Module::Vision, Unit::Patches, pixels, width);
        let embedded = self.linear(false, patch.bias(tower.patch_bias));
        self.hold(u128::from(class_tokens * width), Module::Vision);
        let positions = u128::from(tower.positions) * u128::from(width);
        self.hold(positions, Module::Vision);
        self.parameters.position_embedding += positions;

        let side = tower.merger.map_or(1, |merger| merger.side);
        let hidden = tower.blocks.iter().fold(embedded, |input, group| {
            self.blocks(group.blocks, input, |block, input| {
                block.vision_block(tower, group, class_tokens, side, input)
            })
        });
        let hidden = if tower.final_norm { self.vision_norm(hidden, tower, width) } else { hidden };
        let merged = tower.merger.map_or(hidden, |merger| self.merger(hidden, tower, &merger));
        if tower.classes > 0 {
            let head = Linear::new(Component::VisionHead, Module::Vision, Unit::Frames, width, tower.classes);
            self.linear(hidden, head.bias(true));
        }
        merged
    }

    fn vision_block(
        &mut self,
        tower: &VisionTower,
        block: &VisionBlocks,
        class_tokens: u64,
        side: u64,
        input: NeedsGradient,
    ) -> NeedsGradient {
        let (width, inner) = (tower.width, block.inner);
        let tokens = Unit::PatchTokens { class_tokens };
        let linear = |inputs, outputs| {
            Linear::new(Component::VisionBlocks, Module::Vision, tokens, inputs, outputs).bias(true)
        };
        let hidden = self.vision_norm(input, tower, 2 * width);
        let hidden = self.linear(hidden, linear(width, 3 * width));
        let pairs = match block.window {
            Some(cells) => Unit::WindowPairs { cells, side },
            None => Unit::FramePairs { class_tokens },
        };
        let product = 2 * u128::from(width);
        self.core(hidden, Component::VisionAttention, pairs, product, product);
        let hidden = self.linear(hidden, linear(width, width));
        let up = self.linear(hidden, linear(width, inner));
        let gate = block.gated && self.linear(hidden, linear(width, inner));
        self.linear(up || gate, linear(inner, width))
    }

    fn merger(&mut self, input: NeedsGradient, tower: &VisionTower, merger: &Merger) -> NeedsGradient {
        let joined = tower.width * merger.side * merger.side;
        let unit = Unit::Cells { side: merger.side };
        let linear =
            |outputs| Linear::new(Component::VisionMerger, Module::Merger, unit, joined, outputs).bias(true);
        let mut output = false;
        for index in 0..=merger.deepstack {
            // The last merger normalises a patch, DeepStack's a joined cell.
            let normed = if index == 0 { tower.width } else { joined };
            let hidden = self.merger_norm(input, tower, normed);
            let hidden = self.linear(hidden, linear(joined));
            output |= self.linear(hidden, linear(merger.outputs));
        }
        output
    }

    fn vision_norm(&mut self, input: NeedsGradient, tower: &VisionTower, width: u64) -> NeedsGradient {
        self.norm_of(input, tower, width, Module::Vision)
    }

    fn merger_norm(&mut self, input: NeedsGradient, tower: &VisionTower, width: u64) -> NeedsGradient {
        self.norm_of(input, tower, width, Module::Merger)
    }

    fn norm_of(
        &mut self,
        input: NeedsGradient,
        tower: &VisionTower,
        width: u64,
        module: Module,
    ) -> NeedsGradient {
        let parameters = tower.norm.parameters(width);
        self.hold(parameters, module);
        self.parameters.vectors += parameters;
        input || (parameters > 0 && self.training.trains(module))
    }
}
