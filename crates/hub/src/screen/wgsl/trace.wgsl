// The path tracing test: light in a scene of spheres that comes from a seed, all in whole numbers, 1024 to the unit.
// Each pass is one path for each pixel. `trace.rs` is the same.
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;

const SPHERES = 5u;
const BOUNCES = 4u;

fn scramble(number: u32) -> u32 {
    var mixed = number;
    mixed = (mixed ^ (mixed >> 16u)) * 0x9e3779b1u;
    mixed = (mixed ^ (mixed >> 13u)) * 0x85ebca77u;
    return mixed ^ (mixed >> 16u);
}

fn root(number: i32) -> i32 {
    var found = 0;
    for (var bit = 1 << 14u; bit > 0; bit = bit >> 1u) {
        let next = found + bit;
        if (next * next <= number) {
            found = next;
        }
    }
    return found;
}

fn scalar(one: vec3<i32>, other: vec3<i32>) -> i32 {
    return one.x * other.x + one.y * other.y + one.z * other.z;
}

// The same direction, 1024 long or a little less.
fn unit(way: vec3<i32>) -> vec3<i32> {
    let length = root(scalar(way, way)) + 1;
    return way * 1024 / length;
}

// Three numbers from -1024 to 1023.
fn scattered(drawn: u32) -> vec3<i32> {
    let second = scramble(drawn);
    return vec3<i32>(i32(drawn & 2047u), i32((drawn >> 16u) & 2047u), i32(second & 2047u)) - 1024;
}

// Where a sphere is, and its radius.
fn sphere(seed: u32, number: u32) -> vec4<i32> {
    let drawn = scramble(seed + number);
    return vec4<i32>(scattered(drawn), i32(256u + (scramble(~drawn) & 255u)));
}

fn light(seed: u32, pixel: vec2<u32>, side: u32, first: u32) -> u32 {
    var drawn = first;
    var from_here = vec3<i32>(0, 0, -3072);
    let jitter = vec2<i32>(vec2<u32>(drawn & 7u, (drawn >> 3u) & 7u));
    let at = vec2<i32>(pixel * 2048u / side) - 1024 + jitter;
    var way = unit(vec3<i32>(at, 1536));
    var left = 1024;
    for (var bounce = 0u; bounce < BOUNCES; bounce += 1u) {
        var nearest = 1 << 20u;
        var hit = vec4<i32>(0);
        for (var number = 0u; number < SPHERES; number += 1u) {
            let ball = sphere(seed, number);
            let apart = from_here - ball.xyz;
            let along = scalar(apart, way) >> 10u;
            let inside = along * along - scalar(apart, apart) + ball.w * ball.w;
            if (inside > 0) {
                let far = -along - root(inside);
                if (far > 8 && far < nearest) {
                    nearest = far;
                    hit = ball;
                }
            }
        }
        if (hit.w == 0) {
            return (drawn & 0xffff0000u) ^ u32(left * (way.y + 1024));
        }
        let there = from_here + vec3<i32>((way.x * nearest) >> 10u, (way.y * nearest) >> 10u, (way.z * nearest) >> 10u);
        let outwards = (there - hit.xyz) * 1024 / hit.w;
        drawn = scramble(drawn + bounce);
        from_here = there + vec3<i32>(outwards.x >> 6u, outwards.y >> 6u, outwards.z >> 6u);
        way = unit(outwards + scattered(drawn));
        left = (left * i32(128u + ((drawn >> 11u) & 127u))) >> 8u;
    }
    return drawn;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let items = parameters[2].z;
    let seed = parameters[4].x;
    let side = parameters[4].y;
    if (id.x >= items) {
        return;
    }
    let pixel = vec2<u32>(id.x % side, id.x / side);
    let first = scramble(scramble(seed ^ id.x) + parameters[1].z);
    scratch[id.x] = scramble(scratch[id.x] ^ light(seed, pixel, side, first));
}

@compute @workgroup_size(64)
fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
    let items = parameters[2].z;
    if (id.x >= items / 64u) {
        return;
    }
    var mixed = 0u;
    for (var at = 0u; at < 64u; at += 1u) {
        mixed = scramble(mixed ^ scratch[id.x * 64u + at]);
    }
    output[id.x] = mixed;
}
