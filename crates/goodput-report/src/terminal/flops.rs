//! `goodput flops` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::{self, count, counted, si};
use crate::table;
use crate::view::{Exact, FlopsView, SelfCheckView};

pub(super) fn render(view: &FlopsView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("FLOPs of {}", view.model));
    page.line(&batch(view));
    page.line(&format!("{}; recompute: {}", view.training, view.recompute));
    page.heading("Model FLOPs, exactly");
    page.line(&format!(
        "useful {}: forward {}, input gradients {}, weight gradients {}",
        whole(view.flops.useful.total),
        whole(view.flops.useful.forward),
        whole(view.flops.useful.input_gradient),
        whole(view.flops.useful.weight_gradient)
    ));
    if view.flops.executed != view.flops.useful.total {
        page.line(&format!(
            "executed {}: on padding {}, recomputed {}",
            whole(view.flops.executed),
            whole(view.flops.padding.total),
            whole(view.flops.recompute)
        ));
    }
    if let Some(each) = view.flops.useful_per_token {
        page.line(&format!("{} a real token", si(each, "FLOP")));
    }
    page.table(&table::components(view));
    if let Some(recurrence) = &view.recurrence {
        page.heading("The recurrence, beside the total");
        page.table(&table::recurrence(recurrence));
    }
    page.heading("Parameters and bytes");
    for line in parameters(view) {
        page.line(&line);
    }
    if let Some(tokens) = view.convention_tokens {
        page.heading(&format!(
            "Conventions: training FLOPs a token, in sequences of {} tokens",
            count(tokens)
        ));
        page.table(&table::conventions(view));
    }
    page.finish()
}

pub(super) fn self_check(view: &SelfCheckView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading("The batch formula against the per-token constant that it replaces");
    page.line(&format!("training FLOPs of one row of {} tokens", count(view.row)));
    page.table(&table::self_check(view));
    page.line(match view.holds {
        true => "Every difference is accounted for to the last FLOP.",
        false => "A difference is left over: this is a fault of goodput.",
    });
    page.finish()
}

fn batch(view: &FlopsView) -> String {
    let batch = &view.batch;
    let mut parts = Vec::new();
    if batch.documents > 0 {
        let documents = counted(batch.documents, "document");
        parts.push(format!("{documents}, {} real tokens", count(batch.tokens)));
    }
    if batch.executed_tokens > batch.tokens {
        parts.push(format!("{} tokens with padding", count(batch.executed_tokens)));
    }
    if batch.patches > 0 {
        parts.push(format!("{} patches", count(batch.patches)));
    }
    parts.join(", ")
}

fn parameters(view: &FlopsView) -> Vec<String> {
    let parameters = &view.parameters;
    let mut line = format!("{} parameters", whole(parameters.total));
    if parameters.active != parameters.total {
        line.push_str(&format!(", {} active", whole(parameters.active)));
    }
    if parameters.input_embedding.0 > 0 {
        let tied = if parameters.tied { ", which is also the head" } else { "" };
        line.push_str(&format!(", {} of them input embedding{tied}", whole(parameters.input_embedding)));
    }
    let mut lines = vec![line];
    if parameters.trainable != parameters.total {
        lines.push(format!("{} trained", whole(parameters.trainable)));
    }
    let bytes = |count: Exact| si(count.0 as f64, "B");
    let mut line = format!(
        "weights {} in bf16, {} in fp8",
        bytes(view.bytes.weights_bf16),
        bytes(view.bytes.weights_fp8)
    );
    if view.bytes.cache_bf16_per_token.0 > 0 {
        line.push_str(&format!(
            "; key-value cache {} bytes a token in bf16",
            whole(view.bytes.cache_bf16_per_token)
        ));
    }
    lines.push(line);
    lines
}

/// An exact count, with its thousands apart.
fn whole(count: Exact) -> String {
    number::whole(count.0.unsigned_abs())
}
