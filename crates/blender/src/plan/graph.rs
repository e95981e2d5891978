//! The steps of a job and what each of them waits for: pieces, then a merge for each frame, then perhaps a film.
//!
//! Steps are numbered and made one by one when they are asked for, since a job may have millions.
use alloc::string::String;
use core::ops::Range;
use serde::{Deserialize, Serialize};

use super::cut::{Cut, Refusal, Size};
use super::step::{Film, Merge, Render, Step, frame_number};
use super::{Format, Piece, Rate, Request, Source};

/// What has to be known about a scene before its job can be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// What each frame is.
    pub size: Size,
    /// Frames a second; without one, there can be no film.
    pub rate: Option<Rate>,
}

/// A task of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its name. It depends on the frame and on how frames are split, not on which other frames are asked for.
    pub name: String,
    /// What it does.
    pub step: Step,
    /// Numbers of the tasks whose output it reads, in the order it reads them: of pieces for a merge, of frames for a film.
    pub after: Range<u64>,
}

/// The tasks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    request: Request,
    source: Source,
    cut: Cut,
    rate: Option<Rate>,
}

impl Graph {
    /// Plans, or says why not. `folder` is the name of the input that holds the sent folder; `facts` are those of the
    /// scene, with or without what the request changes in it.
    pub fn new(request: Request, folder: &str, facts: Facts) -> Result<Self, Refusal> {
        let source = request.source(folder);
        if !source.is_sound() {
            return Err(Refusal::Scene(request.scene));
        }
        if request.video.is_some() {
            let sound = facts.rate.is_some_and(|rate| rate.is_sound());
            let why = match request.format {
                Format::Png if sound => None,
                Format::Png => Some("the scene's frames per second are no rate"),
                Format::Exr => Some("only PNG pictures make one: ask for format = \"png\""),
            };
            if let Some(why) = why {
                return Err(Refusal::Film(why));
            }
        }
        let [width, height] =
            request.resolution.map_or([facts.size.width, facts.size.height], |sides| sides.map(u32::from));
        let samples = request.samples.map_or(facts.size.samples, u32::from);
        let cut = Cut::new(request.frames.clone(), request.split, Size { width, height, samples })?;
        Ok(Self { source, cut, rate: facts.rate, request })
    }

    /// How frames are cut.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// How many pieces are rendered.
    pub fn pieces(&self) -> u64 {
        self.cut.count()
    }

    /// How many frames there are.
    pub fn frames(&self) -> u64 {
        self.cut.frames().count() as u64
    }

    /// Whether frames are merged; if not, each piece is a frame's picture already.
    pub fn merges(&self) -> bool {
        self.cut.pieces_of_frame() > 1
    }

    /// The task that looks at the scene, for requesters who have no Blender of their own.
    pub fn inspect(request: &Request, folder: &str) -> Task {
        Task { name: "inspect".into(), step: Step::Inspect(request.source(folder)), after: 0..0 }
    }

    /// The task that renders the piece with this number.
    pub fn render(&self, number: u64) -> Option<Task> {
        let piece = self.cut.piece(number)?;
        let (format, device) = (self.request.format, self.request.device);
        let step = Step::Render(Render { source: self.source.clone(), piece, format, device });
        Some(Task { name: self.piece_name(number, &piece), step, after: 0..0 })
    }

    /// The task that merges the frame at this position; none if frames are not split.
    pub fn merge(&self, position: u64) -> Option<Task> {
        let at = usize::try_from(position).ok().filter(|_| self.merges())?;
        let frame = self.cut.frames().at(at)?;
        let each = u64::from(self.cut.pieces_of_frame());
        let pieces = self.cut.pieces_at(at).collect();
        let (size, format) = (self.cut.size(), self.request.format);
        let step = Step::Merge(Merge { source: self.source.clone(), frame, size, pieces, format });
        Some(Task { name: frame_name(frame), step, after: position * each..(position + 1) * each })
    }

    /// The task that makes the film, if one was asked for. It reads the outputs of the merges, or of the pieces where
    /// frames are not split: either way there is one for each frame.
    pub fn film(&self) -> Option<Task> {
        let (video, rate) = (self.request.video?, self.rate?);
        let pictures = u32::try_from(self.frames()).expect("frames are limited");
        Some(Task { name: "film".into(), step: Step::Film(Film { pictures, rate, video }), after: 0..self.frames() })
    }

    /// Every task, pieces first.
    pub fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        let pieces = (0..self.pieces()).filter_map(|number| self.render(number));
        let merges = (0..self.frames()).filter_map(|position| self.merge(position));
        pieces.chain(merges).chain(self.film())
    }

    /// Such as `f000012-x1y0-s3`: column and row of the tile, then the range of samples, each from 0 and only where it is
    /// split.
    fn piece_name(&self, number: u64, piece: &Piece) -> String {
        let mut name = frame_name(piece.frame);
        let within = number % u64::from(self.cut.pieces_of_frame());
        let split = self.cut.split();
        let ranges = u64::from(split.samples.get());
        let columns = u64::from(split.tiles[0].get());
        if piece.tile.is_some() {
            let tile = within / ranges;
            name += &alloc::format!("-x{}y{}", tile % columns, tile / columns);
        }
        if piece.samples.is_some() {
            name += &alloc::format!("-s{}", within % ranges);
        }
        name
    }
}

/// Letters, digits and `-` only, since names become names of files.
fn frame_name(frame: i32) -> String {
    alloc::format!("f{}", frame_number(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{DeviceChoice, Split, Video};
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use core::num::NonZeroU32;
    use proptest::prelude::*;

    const FACTS: Facts =
        Facts { size: Size { width: 64, height: 48, samples: 16 }, rate: Some(Rate { frames: 24, seconds: 1 }) };

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).expect("not zero")
    }

    fn request(frames: &str, columns: u32, rows: u32, samples: u32) -> Request {
        Request {
            scene: "shot.blend".into(),
            scene_name: None,
            frames: frames.parse().expect("frames"),
            split: Split { tiles: [number(columns), number(rows)], samples: number(samples) },
            format: Format::Png,
            video: Some(Video::Mp4),
            engine: None,
            device: DeviceChoice::Any,
            samples: None,
            resolution: None,
        }
    }

    fn graph(request: Request) -> Graph {
        Graph::new(request, "files", FACTS).expect("plans")
    }

    #[test]
    fn names_say_frame_tile_and_range() {
        let names = |request| graph(request).tasks().map(|task| task.name).collect::<Vec<_>>();
        assert_eq!(names(request("-3,7", 1, 1, 1)), ["f-000003", "f000007", "film"]);
        assert_eq!(
            names(request("7", 2, 1, 2)),
            ["f000007-x0y0-s0", "f000007-x0y0-s1", "f000007-x1y0-s0", "f000007-x1y0-s1", "f000007", "film"]
        );
        assert_eq!(names(request("7", 1, 1, 2))[1], "f000007-s1");
    }

    #[test]
    fn a_film_reads_merges_or_whole_pieces() {
        for request in [request("1-4", 1, 1, 1), request("1-4", 2, 1, 1)] {
            let graph = graph(request);
            let film = graph.film().expect("a film");
            assert_eq!(film.after, 0..4);
            let outputs =
                film.after.map(|at| graph.merge(at).or_else(|| graph.render(at)).expect("a task").step.output());
            assert_eq!(outputs.collect::<Vec<_>>(), ["000001.png", "000002.png", "000003.png", "000004.png"]);
        }
    }

    #[test]
    fn what_a_request_changes_counts() {
        let changed =
            Request { samples: Some(number(2)), resolution: Some([number(640), number(8)]), ..request("1", 1, 1, 2) };
        let Some(Step::Merge(merge)) = graph(changed).merge(0).map(|task| task.step) else { panic!("no merge") };
        assert_eq!(merge.size, Size { width: 640, height: 8, samples: 2 });
        let few = Request { samples: Some(number(1)), ..request("1", 1, 1, 2) };
        assert_eq!(Graph::new(few, "files", FACTS), Err(Refusal::Samples(2, 1)));
    }

    #[test]
    fn scenes_elsewhere_and_films_of_nothing_are_refused() {
        let outside = Request { scene: "../a.blend".into(), ..request("1", 1, 1, 1) };
        assert_eq!(Graph::new(outside, "files", FACTS), Err(Refusal::Scene("../a.blend".into())));
        let light = Request { format: Format::Exr, ..request("1", 1, 1, 1) };
        assert!(matches!(Graph::new(light, "files", FACTS), Err(Refusal::Film(_))));
        assert!(matches!(
            Graph::new(request("1", 1, 1, 1), "files", Facts { rate: None, ..FACTS }),
            Err(Refusal::Film(_))
        ));
    }

    proptest! {
        #[test]
        fn every_piece_is_read_once_and_names_are_unique_and_do_not_depend_on_other_frames(
            frames in proptest::collection::btree_set(-20..20i32, 1..6),
            columns in 1..4u32, rows in 1..4u32, ranges in 1..4u32,
        ) {
            let text = frames.iter().map(|frame| alloc::format!("{frame}")).collect::<Vec<_>>().join(",");
            let planned = graph(request(&text, columns, rows, ranges));
            let names: Vec<String> = planned.tasks().map(|task| task.name).collect();
            prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
            let mut next = 0;
            for (position, frame) in frames.iter().enumerate() {
                let alone = graph(request(&alloc::format!("{frame}"), columns, rows, ranges));
                if let Some(merge) = planned.merge(position as u64) {
                    prop_assert_eq!(merge.after.start, next);
                    next = merge.after.end;
                    let Step::Merge(step) = &merge.step else { panic!("no merge") };
                    prop_assert_eq!(step.pieces.len() as u64, merge.after.end - merge.after.start);
                    for (piece, number) in step.pieces.iter().zip(merge.after) {
                        let task = planned.render(number).expect("a piece");
                        prop_assert_eq!(alone.tasks().find(|other| other.name == task.name).map(|other| other.step), Some(task.step.clone()));
                        let Step::Render(render) = task.step else { panic!("no render") };
                        prop_assert_eq!(render.piece, *piece);
                    }
                } else {
                    prop_assert!(!planned.merges());
                    next += 1;
                }
            }
            prop_assert_eq!(next, planned.pieces());
            prop_assert_eq!((planned.render(next), planned.merge(planned.frames())), (None, None));
        }
    }
}
