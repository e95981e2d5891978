// How many steps does each number take to come down to 1, if an even one is halved and an odd one becomes 3n + 1?
//
// One invocation follows one number. Each pass goes on for a limited number of steps, from where the last one
// stopped: a kernel must not loop for long. Whole numbers only, so every device gives the same bytes.

// [2]: index (low, high), items. [4].x: steps in a pass.
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
@group(0) @binding(1) var<storage, read_write> steps: array<u32>;
@group(0) @binding(2) var<storage, read_write> numbers: array<vec2<u32>>; // where each number is now: low, high

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let items = parameters[2].z;
    if id.x >= items {
        return;
    }
    var n = numbers[id.x];
    if parameters[1].z == 0u { // the first pass
        n = vec2(parameters[2].x * items + id.x + 1u, 0u);
    }
    var count = steps[id.x];
    for (var i = 0u; i < parameters[4].x && any(n != vec2(1u, 0u)); i++) {
        n = next(n);
        count++;
    }
    numbers[id.x] = n;
    steps[id.x] = count;
}

fn next(n: vec2<u32>) -> vec2<u32> { // of a number of 64 bits, since on their way up numbers outgrow 32
    if (n.x & 1u) == 0u {
        return vec2(n.x >> 1u | n.y << 31u, n.y >> 1u);
    }
    let twice = vec2(n.x << 1u | 1u, n.y << 1u | n.x >> 31u); // 2n + 1
    let low = twice.x + n.x;
    return vec2(low, twice.y + n.y + u32(low < n.x));
}
