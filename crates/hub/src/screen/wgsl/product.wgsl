// The matrix test: products of square matrices whose elements come from a seed, all in whole numbers modulo 2³².
// Even passes make two matrices, odd passes multiply them. `product.rs` is the same.
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
// The first matrix, the second, and what has come out so far.
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;

fn scramble(number: u32) -> u32 {
    var mixed = number;
    mixed = (mixed ^ (mixed >> 16u)) * 0x9e3779b1u;
    mixed = (mixed ^ (mixed >> 13u)) * 0x85ebca77u;
    return mixed ^ (mixed >> 16u);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let items = parameters[2].z;
    let seed = parameters[4].x;
    let side = parameters[4].y;
    let pass_number = parameters[1].z;
    if (id.x >= items) {
        return;
    }
    if ((pass_number & 1u) == 0u) {
        scratch[id.x] = scramble(scramble(seed ^ pass_number) + id.x);
        scratch[items + id.x] = scramble(scramble(seed ^ (pass_number + 1u)) + id.x);
        return;
    }
    let row = id.x / side * side;
    let column = items + id.x % side;
    var sum = 0u;
    for (var at = 0u; at < side; at += 1u) {
        sum += scratch[row + at] * scratch[column + at * side];
    }
    let so_far = 2u * items + id.x;
    scratch[so_far] = scramble(scratch[so_far] ^ sum);
}

@compute @workgroup_size(64)
fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
    let items = parameters[2].z;
    if (id.x >= items / 64u) {
        return;
    }
    var mixed = 0u;
    for (var at = 0u; at < 64u; at += 1u) {
        mixed = scramble(mixed ^ scratch[2u * items + id.x * 64u + at]);
    }
    output[id.x] = mixed;
}
