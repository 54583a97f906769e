//! `goodput flops`

use goodput_model::architecture::known_architectures;
use goodput_model::{Grid, Module, Recompute};
use goodput_verbs::{FlopsRequest, TrainingRequest, VerbError};

use crate::args::{FlopsArgs, RecomputeArg};
use crate::error::CliError;
use crate::output::{self, Answer};

/// More documents or images than anybody writes on a command line.
const MOST: usize = 1 << 20;

/// Counts the model's FLOPs on the batch, prints them.
pub fn run(args: &FlopsArgs) -> Result<Answer, CliError> {
    if args.list {
        return list(args);
    }
    if args.self_check {
        let view = goodput_verbs::self_check(args.model.as_deref())?;
        let text = view.render(args.output.format.into(), output::short_style(&args.output));
        output::write_short(&args.output, text)?;
        return Ok(if view.holds { Answer::Complete } else { Answer::FallsShort });
    }
    let request = FlopsRequest {
        model: args.model.clone().unwrap_or_default(),
        sequence: args.seq,
        sequences: Some(args.batch),
        documents: args.documents.as_deref().map_or(Ok(Vec::new()), |list| lengths("--documents", list))?,
        row: args.row,
        pad_to: args.pad_to,
        sources: args.sources.as_deref().map_or(Ok(Vec::new()), |list| lengths("--sources", list))?,
        images: args.images.as_deref().map_or(Ok(Vec::new()), grids)?,
        prediction_modules: args.mtp.unwrap_or(0),
        training: training(args)?,
        recompute: match args.recompute {
            RecomputeArg::None => Recompute::None,
            RecomputeArg::FusedAttention => Recompute::FusedAttention,
            RecomputeArg::Attention => Recompute::Attention,
            RecomputeArg::Full => Recompute::Full,
        },
    };
    let view = goodput_verbs::flops(&request)?;
    let text = view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    Ok(Answer::Complete)
}

fn list(args: &FlopsArgs) -> Result<Answer, CliError> {
    let known = known_architectures().map_err(VerbError::from)?;
    let names: String = known.iter().map(|architecture| format!("{}\n", architecture.name)).collect();
    output::write_to(args.output.output.as_deref(), &names)?;
    Ok(Answer::Complete)
}

/// `2979x10,2978`
fn lengths(option: &str, list: &str) -> Result<Vec<u64>, CliError> {
    let mut lengths = Vec::new();
    for part in list.split(',') {
        let wrong = || {
            let error = CliError::new(format!(
                "{option}: `{part}` is neither LENGTH nor LENGTHxCOUNT, each at least 1"
            ));
            error.help("for example 2979x10,2978")
        };
        let (length, times) = part.trim().split_once('x').unwrap_or((part.trim(), "1"));
        let length: u64 = length.parse().ok().filter(|length| *length > 0).ok_or_else(wrong)?;
        let times = times.parse().ok().filter(|times| (1..=MOST).contains(times)).ok_or_else(wrong)?;
        lengths.extend(std::iter::repeat_n(length, times));
    }
    Ok(lengths)
}

/// `46x34`, `46x34x8`, `t:4x32x32`
fn grids(list: &str) -> Result<Vec<Grid>, CliError> {
    let mut grids = Vec::new();
    for part in list.split(',') {
        let wrong = || {
            let error = CliError::new(format!("--images: `{part}` is no grid of patches"));
            error.help("for example 46x34 (rows x columns), 46x34x8 (eight of them), t:4x32x32 (a video of 4 frames)")
        };
        let text = part.trim();
        let (is_video, sizes) = text.strip_prefix("t:").map_or((false, text), |rest| (true, rest));
        let sizes: Vec<u64> =
            sizes.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let (times, grid) = match (is_video, sizes.as_slice()) {
            (true, &[frames, height, width]) => (1, Grid { frames, height, width }),
            (false, &[height, width]) => (1, Grid::image(height, width)),
            (false, &[height, width, times]) => (times, Grid::image(height, width)),
            _ => return Err(wrong()),
        };
        let times =
            usize::try_from(times).ok().filter(|times| (1..=MOST).contains(times)).ok_or_else(wrong)?;
        grids.extend(std::iter::repeat_n(grid, times));
    }
    Ok(grids)
}

fn training(args: &FlopsArgs) -> Result<TrainingRequest, CliError> {
    if args.forward {
        return Ok(TrainingRequest::Forward);
    }
    if let Some(rank) = args.lora {
        let targets = match args.lora_targets.as_slice() {
            [] => Module::BLOCK_PROJECTIONS.to_vec(),
            names => modules("--lora-targets", names)?,
        };
        return Ok(TrainingRequest::Adapters { rank, targets });
    }
    Ok(TrainingRequest::Frozen(modules("--freeze", &args.freeze)?))
}

fn modules(option: &str, names: &[String]) -> Result<Vec<Module>, CliError> {
    let module = |name: &String| {
        let found = Module::ALL.into_iter().find(|module| module.name() == name.trim());
        found.ok_or_else(|| {
            let error = CliError::new(format!("{option}: `{name}` is no module"));
            error.help(format!("there are {}", Module::ALL.map(Module::name).join(", ")))
        })
    };
    names.iter().map(module).collect()
}
