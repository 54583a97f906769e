//! What a batch has many of, and terms are proportional to.

use crate::mask::Mask;

/// One of the things that a batch counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    /// Tokens of the documents; image tokens of a diffusion transformer.
    Tokens,
    /// Tokens of the sources that an encoder reads; prompt tokens of a diffusion transformer.
    SourceTokens,
    /// Both together.
    JointTokens,
    /// Documents.
    Documents,
    /// Attention pairs inside the documents.
    Pairs(Mask),
    /// Attention pairs inside the sources, which see all of each other.
    SourcePairs,
    /// Pairs of a document's tokens with its source's.
    CrossPairs,
    /// Pairs inside document and source together.
    JointPairs,
    /// Patches of images and frames.
    Patches,
    /// Patches and the class token of each frame.
    PatchTokens { class_tokens: u64 },
    /// Frames; an image is one.
    Frames,
    /// Attention pairs inside the frames, class tokens included.
    FramePairs { class_tokens: u64 },
    /// Attention pairs inside windows of `cells` x `cells` merged cells, tiled from the top left.
    WindowPairs { cells: u64, side: u64 },
    /// Cells of `side` x `side` patches.
    Cells { side: u64 },
}
