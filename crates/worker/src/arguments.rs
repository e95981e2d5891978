//! The arguments of one element: `{index}` and its like filled in.
use gleaner_wire::{Extent, Rect};

/// Fills in what an argument says about its element. What is in braces and unknown stays as it is.
pub fn fill(args: &[String], extent: &Extent, named: &[(&str, &str)], index: u32) -> Vec<String> {
    args.iter().map(|arg| fill_one(arg, extent, named, index)).collect()
}

/// The same with one text; `named` are the element's own values by name.
pub fn fill_one(arg: &str, extent: &Extent, named: &[(&str, &str)], index: u32) -> String {
    let mut filled = String::with_capacity(arg.len());
    let mut rest = arg;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let close = rest.find('}');
        let known = close.and_then(|close| {
            let name = &rest[1..close];
            let own = named.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            own.or_else(|| value(name, extent, index).map(|value| value.to_string())).map(|value| (value, close))
        });
        match known {
            Some((value, close)) => {
                filled.push_str(&value);
                rest = &rest[close + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn value(name: &str, extent: &Extent, index: u32) -> Option<u64> {
    if name == "index" {
        return Some(extent.value(index));
    }
    let Extent::Tiles { width: picture_width, height: picture_height, tile_width, tile_height } = *extent else {
        return None;
    };
    let Rect { x, y, width, height } = extent.tile(index)?;
    let number = match name {
        "x" => x,
        "y" => y,
        "width" => width,
        "height" => height,
        "tile_width" => tile_width,
        "tile_height" => tile_height,
        "picture_width" => picture_width,
        "picture_height" => picture_height,
        _ => return None,
    };
    Some(u64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(arg: &str, extent: &Extent, index: u32) -> String {
        fill(&[arg.to_owned()], extent, &[("lr", "1e-4")], index).concat()
    }

    #[test]
    fn elements_of_a_range_see_their_number() {
        let extent = Extent::Array("10..30 step 10".parse().expect("a range"));
        assert_eq!(filled("shard-{index}.bin", &extent, 2), "shard-30.bin");
    }

    #[test]
    fn values_of_a_sweep_are_filled_in_by_name() {
        assert_eq!(filled("--lr={lr} --n={index}", &Extent::Single, 0), "--lr=1e-4 --n=0");
    }

    #[test]
    fn tiles_see_where_they_are() {
        let extent = Extent::Tiles { width: 10, height: 7, tile_width: 4, tile_height: 3 };
        let text = "{x},{y} {width}x{height} of {picture_width}x{picture_height} by {tile_width}x{tile_height}";
        assert_eq!(filled(text, &extent, 8), "8,6 2x1 of 10x7 by 4x3");
    }

    #[test]
    fn other_braces_stay() {
        for arg in ["{", "}", "{}", "{unknown}", "{index", "{{x}", "{é}"] {
            assert_eq!(filled(arg, &Extent::Single, 0), arg, "{arg}");
        }
        assert_eq!(filled("{{index}}", &Extent::Single, 0), "{0}");
    }
}
