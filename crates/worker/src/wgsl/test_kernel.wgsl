// The self-test of a device: the same steps are made on the processor and compared.
struct Parameters { rows: array<vec4<u32>, 16> }

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read_write> output: array<vec2<u32>>;

fn step_of(state: u32) -> u32 {
    var next = state;
    next ^= next << 13u;
    next ^= next >> 17u;
    next ^= next << 5u;
    return next;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let steps = parameters.rows[4].x;
    if (id.x >= parameters.rows[2].z) {
        return;
    }
    var state = id.x + 1u;
    var count = 0u;
    loop {
        if (count >= steps) {
            break;
        }
        state = step_of(state);
        count += 1u;
    }
    output[id.x] = vec2<u32>(count, state);
}
