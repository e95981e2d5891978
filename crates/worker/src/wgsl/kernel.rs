//! Reading a kernel before any driver sees it: it must parse, validate, and bind only what there is.
use gleaner_wire::Cause;
use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};

use super::message::Dispatch;
use crate::failure::Failure;

/// The longest source.
pub const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// The binding of the first input.
pub const FIRST_INPUT: u32 = 3;

/// A kernel that may run: the workgroup size of each of its entry points that are dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) entry_size: [u32; 3],
    pub(crate) finish_size: Option<[u32; 3]>,
}

fn refuse(text: impl Into<String>) -> Failure {
    Failure::new(Cause::BadInput, text)
}

/// Checks a kernel against what is bound for it.
pub(crate) fn check(dispatch: &Dispatch) -> Result<Checked, Failure> {
    let source = &dispatch.source;
    let module = naga::front::wgsl::parse_str(source)
        .map_err(|error| refuse(format!("the kernel does not parse: {}", error.emit_to_string(source))))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::default())
        .validate(&module)
        .map_err(|error| refuse(format!("the kernel is not valid: {}", error.emit_to_string(source))))?;
    let entry_size = check_entry(&module, &info, &dispatch.entry, dispatch)?;
    let finish = dispatch.finish.as_ref().map(|name| check_entry(&module, &info, name, dispatch)).transpose()?;
    Ok(Checked { entry_size, finish_size: finish })
}

fn check_entry(module: &Module, info: &ModuleInfo, name: &str, dispatch: &Dispatch) -> Result<[u32; 3], Failure> {
    let compute = |point: &naga::EntryPoint| point.stage == ShaderStage::Compute;
    let index = module.entry_points.iter().position(|point| point.name == name && compute(point)).ok_or_else(|| {
        let names: Vec<_> =
            module.entry_points.iter().filter(|point| compute(point)).map(|point| point.name.as_str()).collect();
        refuse(format!("the kernel has no compute entry point `{name}`; it has: {}", names.join(", ")))
    })?;
    let point = &module.entry_points[index];
    if point.workgroup_size_overrides.is_some_and(|sizes| sizes.iter().any(Option::is_some)) {
        return Err(refuse(format!("the workgroup size of `{name}` must be written as numbers, not as overrides")));
    }
    let uses = info.get_entry_point(index);
    for (handle, variable) in module.global_variables.iter() {
        if uses[handle] != GlobalUse::empty() {
            check_binding(variable, dispatch)?;
        }
    }
    Ok(point.workgroup_size)
}

/// Whether a variable is one of those that are bound, in its right address space.
fn check_binding(variable: &naga::GlobalVariable, dispatch: &Dispatch) -> Result<(), Failure> {
    let name = variable.name.as_deref().unwrap_or("?");
    let Some(binding) = variable.binding else { return Ok(()) };
    let inputs = FIRST_INPUT..FIRST_INPUT.saturating_add(dispatch.inputs.len() as u32);
    let wanted = match (binding.group, binding.binding) {
        (0, 0) => "var<uniform>",
        (0, 1) => "var<storage, read_write>",
        (0, 2) if dispatch.scratch_bytes > 0 => "var<storage, read_write>",
        (0, 2) => {
            return Err(refuse(format!("`{name}` is at binding 2, but the job asks for no scratch memory")));
        }
        (0, number) if inputs.contains(&number) => "var<storage, read>",
        (group, number) => {
            let count = dispatch.inputs.len();
            return Err(refuse(format!(
                "`{name}` is at group {group}, binding {number}, where nothing is bound: group 0 has 0 parameters, \
                 1 output, 2 scratch and, from 3, the task's {count} inputs"
            )));
        }
    };
    let fits = match variable.space {
        AddressSpace::Uniform => wanted == "var<uniform>",
        AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => wanted.ends_with("read_write>"),
        AddressSpace::Storage { .. } => wanted.starts_with("var<storage"),
        AddressSpace::Function
        | AddressSpace::Private
        | AddressSpace::WorkGroup
        | AddressSpace::Handle
        | AddressSpace::Immediate
        | AddressSpace::TaskPayload
        | AddressSpace::RayPayload
        | AddressSpace::IncomingRayPayload => false,
    };
    if fits { Ok(()) } else { Err(refuse(format!("`{name}` at binding {} must be {wanted}", binding.binding))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::message::Piece;

    fn dispatch(source: &str) -> Dispatch {
        Dispatch {
            source: source.to_owned(),
            entry: "main".to_owned(),
            finish: None,
            passes: 1,
            invocations: (1, 1),
            parameters: Vec::new(),
            output_bytes: 4,
            scratch_bytes: 0,
            inputs: vec![vec![Piece::Bytes(vec![0; 4])]],
            memory_max: 1024,
            time_ms_max: 1000,
        }
    }

    fn refusal(source: &str) -> String {
        let failure = check(&dispatch(source)).expect_err("must be refused");
        assert_eq!(failure.cause, Cause::BadInput);
        failure.detail
    }

    #[test]
    fn a_mistake_is_shown_with_its_line() {
        let text = refusal("@compute @workgroup_size(1)\nfn main() { let x: u32 = 1.5; }");
        assert!(text.contains("wgsl:2"), "{text}");
        let text = refusal("fn main( {");
        assert!(text.contains("wgsl:1"), "{text}");
    }

    #[test]
    fn a_missing_entry_point_is_named_with_those_there_are() {
        let text = refusal("@compute @workgroup_size(1) fn other() {}");
        assert!(text.contains("`main`") && text.contains("other"), "{text}");
    }

    #[test]
    fn only_what_is_bound_can_be_used() {
        let kernel = |variable: &str, body: &str| {
            format!("{variable} data: array<u32>;\n@compute @workgroup_size(1) fn main() {{ {body} }}")
        };
        let reads = "let x = data[0];";
        for (variable, part) in [
            ("@group(0) @binding(2) var<storage, read_write>", "no scratch memory"),
            ("@group(0) @binding(4) var<storage, read>", "nothing is bound"),
            ("@group(1) @binding(1) var<storage, read>", "nothing is bound"),
            ("@group(0) @binding(0) var<storage, read>", "must be var<uniform>"),
            ("@group(0) @binding(3) var<storage, read_write>", "must be var<storage, read>"),
        ] {
            let text = refusal(&kernel(variable, reads));
            assert!(text.contains(part), "{variable}: {text}");
        }
        let good = kernel("@group(0) @binding(3) var<storage, read>", reads);
        assert_eq!(check(&dispatch(&good)).expect("is good").entry_size, [1, 1, 1]);
    }
}
