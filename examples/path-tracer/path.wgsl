// A harvested field in the last light of the day, path-traced. Each pass adds a few samples to every pixel of the
// tile; `finish` turns their mean into RGBA, 8 bits each. path.c is the same picture as a WASI program.
//
// Chance comes from integer hashes of pixel and sample alone, so a pixel is the same bytes whatever tile it is part
// of and however its samples are split over passes.

// [0]: x, y, width, height of the tile. [1]: width and height of the picture, pass, passes. [4].x: samples a pass.
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 16>;
@group(0) @binding(1) var<storage, read_write> picture: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>; // light so far, and how many samples

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let tile = parameters[0];
    if id.x >= tile.z || id.y >= tile.w {
        return;
    }
    let samples = parameters[4].x;
    let first = parameters[1].z * samples;
    var sum = sums[id.y * tile.z + id.x];
    for (var i = 0u; i < samples; i++) {
        sum += vec4(camera(tile.xy + id.xy, parameters[1].xy, first + i), 1.0);
    }
    sums[id.y * tile.z + id.x] = sum;
}

@compute @workgroup_size(8, 8)
fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
    let tile = parameters[0];
    if id.x >= tile.z || id.y >= tile.w {
        return;
    }
    let sum = sums[id.y * tile.z + id.x];
    picture[id.y * tile.z + id.x] = develop(sum.xyz / sum.w);
}

fn develop(light: vec3<f32>) -> u32 { // Narkowicz's fit of the ACES film curve, then sRGB
    let x = light * 0.95;
    let film = clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), vec3(0.0), vec3(1.0));
    let srgb = select(1.055 * pow(film, vec3(1.0 / 2.4)) - 0.055, 12.92 * film, film < vec3(0.0031308));
    let bytes = vec3<u32>(srgb * 255.0 + 0.5);
    return bytes.x | bytes.y << 8u | bytes.z << 16u | 0xff000000u;
}

// ---- chance ----

fn hash(x: u32) -> u32 { // PCG, Jarzynski and Olano 2020
    let state = x * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

fn hash2(x: i32, y: i32) -> u32 {
    return hash(u32(x) * 0x9e3779b1u ^ u32(y) * 0x85ebca77u);
}

fn unit(bits: u32) -> f32 {
    return f32(bits >> 8u) * 5.9604645e-8;
}

// The first ten dimensions of a path walk a Kronecker sequence, turned by a random amount for each pixel: its points
// are spread more evenly than chance, so fewer are needed. The later ones are plain chance.
var<private> KRONECKER: array<u32, 10> = array(
    4020386218u, 3763359354u, 3522764445u, 3297550982u, 3086735617u,
    2889397865u, 2704676091u, 2531763744u, 2369905837u, 2218395650u,
);

struct Chance { pixel: u32, sample: u32, dimension: u32 }

fn next(chance: ptr<function, Chance>) -> f32 {
    let d = (*chance).dimension;
    (*chance).dimension = d + 1u;
    let turn = hash((*chance).pixel + d * 0x85ebca6bu);
    if d < 10u {
        return unit(turn + ((*chance).sample + 1u) * KRONECKER[d]);
    }
    return unit(hash(turn + (*chance).sample));
}

fn noise(p: vec2<f32>) -> f32 { // smooth, 0 to 1, over a square grid
    let cell = floor(p);
    let i = vec2<i32>(cell);
    let u = (p - cell) * (p - cell) * (3.0 - 2.0 * (p - cell));
    let low = mix(unit(hash2(i.x, i.y)), unit(hash2(i.x + 1, i.y)), u.x);
    let high = mix(unit(hash2(i.x, i.y + 1)), unit(hash2(i.x + 1, i.y + 1)), u.x);
    return mix(low, high, u.y);
}

// ---- the scene ----

// What is dull comes first, then metals, then glass.
const SKY = 0u;
const GROUND = 1u;
const STALK = 2u;
const BALE = 3u;
const GRAIN = 4u;
const GOLD = 5u;
const COPPER = 6u;
const GLASS = 7u;

struct Sphere { center: vec3<f32>, radius: f32, thing: u32 }
struct Bale { center: vec3<f32>, radius: f32, half: f32, axis: vec2<f32> } // axis: where it points, in x and z
struct Wheat { x: f32, z: f32, tall: f32, lean: f32, bow: f32 }

// Tables are private variables, not constants: indexing a constant copies all of it on some devices.
var<private> BALLS: array<Sphere, 4> = array(
    Sphere(vec3(0.62, 0.44, 3.9), 0.44, GLASS),
    Sphere(vec3(-0.52, 0.27, 4.3), 0.27, GOLD),
    Sphere(vec3(1.42, 0.2, 4.5), 0.2, COPPER),
    Sphere(vec3(-0.02, 0.13, 3.35), 0.13, GLASS),
);
var<private> GRAINS: array<vec4<f32>, 12> = array( // center and radius
    vec4(-0.62, 0.045, 2.9, 0.045), vec4(-0.40, 0.04, 2.72, 0.04), vec4(-0.30, 0.05, 3.18, 0.05),
    vec4(0.20, 0.04, 2.8, 0.04), vec4(0.34, 0.05, 3.02, 0.05), vec4(0.10, 0.035, 2.58, 0.035),
    vec4(-0.12, 0.04, 3.85, 0.04), vec4(0.05, 0.05, 4.25, 0.05), vec4(-0.18, 0.04, 4.75, 0.04),
    vec4(0.13, 0.045, 5.3, 0.045), vec4(-0.95, 0.05, 3.5, 0.05), vec4(1.15, 0.045, 3.3, 0.045),
);
var<private> BALES: array<Bale, 8> = array(
    Bale(vec3(-5.5, 0.80, 13.6), 0.80, 0.65, vec2(0.574, -0.819)),
    Bale(vec3(3.75, 0.72, 12.6), 0.72, 0.6, vec2(0.342, 0.94)),
    Bale(vec3(0.4, 0.68, 19.0), 0.68, 0.6, vec2(0.5, 0.866)),
    Bale(vec3(-7.5, 0.68, 20.0), 0.68, 0.6, vec2(0.98, 0.199)),
    Bale(vec3(9.5, 0.68, 24.0), 0.68, 0.6, vec2(0.342, 0.94)),
    Bale(vec3(-3.0, 0.68, 38.0), 0.68, 0.6, vec2(0.866, -0.5)),
    Bale(vec3(12.0, 0.68, 46.0), 0.68, 0.6, vec2(0.707, 0.707)),
    Bale(vec3(-17.0, 0.68, 44.0), 0.68, 0.6, vec2(0.6, 0.8)),
);
const BALES_NEAR = 11.0; // where bales are
const BALES_FAR = 48.0;
const BALES_HIGH = 1.61;
var<private> WHEAT: array<Wheat, 3> = array(
    Wheat(1.47, 2.85, 1.33, 0.26, -0.15), Wheat(1.66, 3.1, 1.24, 0.20, -0.55), Wheat(1.36, 3.0, 1.07, 0.14, 0.15),
);
const WHEAT_CENTER = vec3(1.35, 0.7, 2.95); // of a ball around all of it
const WHEAT_RADIUS = 0.82;

const SUN = vec3(-0.3960, 0.1478, 0.9063);
const SUN_LIGHT = vec3(8.5, 4.3, 1.6);
const SUN_RADIUS = 0.018; // radians; four times the real one, for softer shadows
const STRAW = vec3(0.72, 0.50, 0.22);

const HORIZON = 300.0; // beyond it there are only hills
const ROW = 0.17; // stubble: distance of rows
const STEP = 0.055; // and of stalks in a row
const STUBBLE = 0.13; // the tallest stalk
const STUBBLE_FAR = 17.0; // further away the ground's texture stands for it

const CELLS_MAX = 40;
const RAYS_MAX = 12;
const SCATTERED_MAX = 3;

// ---- light from the sky ----

fn haze(d: vec3<f32>) -> vec3<f32> { // the air's own colour, without clouds, hills and sun
    let h = clamp(d.y + 0.3 * min(d.z, 0.0), 0.0, 1.0);
    let s = clamp(dot(d, SUN), 0.0, 1.0);
    let low = mix(vec3(0.78, 0.32, 0.20), vec3(0.36, 0.26, 0.42), smoothstep(0.0, 0.18, h));
    let color = mix(low, vec3(0.05, 0.12, 0.36), smoothstep(0.05, 0.42, h));
    let s4 = s * s * s * s;
    let s16 = s4 * s4 * s4 * s4;
    let s64 = s16 * s16 * s16 * s16;
    return color * (0.64 + 0.10 * s) + vec3(1.0, 0.38, 0.10) * (0.12 * s4) + vec3(1.0, 0.40, 0.08) * (0.40 * s16)
        + vec3(1.0, 0.52, 0.16) * (0.80 * s64);
}

fn clouds(d: vec3<f32>, behind: vec3<f32>) -> vec3<f32> {
    let p = vec2(1.4 * d.x, 2.2) / (d.y + 0.12) + vec2(104.0, 56.0);
    let n = 0.5 * noise(p) + 0.25 * noise(p * vec2(2.1, 2.3)) + 0.125 * noise(p * vec2(4.3, 4.9))
        + 0.0625 * noise(p * vec2(9.1, 10.3));
    let cover = smoothstep(0.44, 0.74, n) * smoothstep(0.03, 0.14, d.y) * 0.85;
    let s = clamp(dot(d, SUN), 0.0, 1.0);
    let s4 = s * s * s * s;
    return mix(behind, vec3(0.42, 0.22, 0.26) + vec3(1.6, 0.66, 0.24) * (s4 * s4 + 0.10), cover);
}

fn hills(d: vec3<f32>, behind: vec3<f32>) -> vec3<f32> {
    let a = d.x / d.z;
    let far = 0.030 + 0.034 * noise(vec2(3.1 * a + 5.0, 22.5)) + 0.010 * noise(vec2(11.0 * a, 3.5));
    let near = 0.004 + 0.026 * noise(vec2(4.3 * a + 1.7, 31.5)) + 0.007 * noise(vec2(60.0 * a, 1.5));
    let air = haze(vec3(d.x, 0.0, d.z));
    if d.y < near {
        return air * 0.38 + vec3(0.01, 0.012, 0.01);
    }
    if d.y < far {
        return air * 0.66 + vec3(0.0, 0.005, 0.03);
    }
    return behind;
}

fn sky(d: vec3<f32>) -> vec3<f32> { // what an eye sees there
    var color = clouds(d, haze(d));
    if dot(d, SUN) > 0.99984 {
        color = vec3(60.0, 38.0, 18.0);
    }
    if d.z > 0.0 && d.y < 0.08 {
        color = hills(d, color);
    }
    return color;
}

// ---- intersections: each improves the hit if it is nearer ----

struct Ray { o: vec3<f32>, d: vec3<f32> }
struct Hit { t: f32, normal: vec3<f32>, thing: u32, mark: u32 }

fn meet_sphere(ray: Ray, center: vec3<f32>, radius: f32, thing: u32, mark: u32, hit: ptr<function, Hit>) {
    let to = center - ray.o;
    let b = dot(to, ray.d);
    let root = b * b - dot(to, to) + radius * radius;
    if root < 0.0 {
        return;
    }
    let t = b - sqrt(root);
    if t < 1e-3 || t >= (*hit).t {
        return;
    }
    *hit = Hit(t, (ray.d * t - to) / radius, thing, mark);
}

fn turned(p: vec3<f32>, axis: vec2<f32>) -> vec3<f32> { // with the axis as x
    return vec3(p.x * axis.x + p.z * axis.y, p.y, p.z * axis.x - p.x * axis.y);
}

fn meet_bale(ray: Ray, bale: Bale, mark: u32, hit: ptr<function, Hit>) {
    let q = turned(ray.o - bale.center, bale.axis);
    let e = turned(ray.d, bale.axis);
    let a = dot(e.yz, e.yz);
    let b = dot(q.yz, e.yz);
    let root = b * b - a * (dot(q.yz, q.yz) - bale.radius * bale.radius);
    if root < 0.0 {
        return;
    }
    let side = (-b - sqrt(root)) / a;
    let leave = (-b + sqrt(root)) / a;
    let facing = select(1.0, -1.0, e.x > 0.0);
    let cap = (facing * bale.half - q.x) / e.x;
    let t = max(side, cap);
    if t < 1e-3 || t >= (*hit).t || t > leave || abs(q.x + t * e.x) > bale.half + 1e-4 {
        return;
    }
    var n = vec3(facing, 0.0, 0.0);
    if cap <= side {
        n = vec3(0.0, (q.yz + t * e.yz) / bale.radius);
    }
    *hit = Hit(t, turned(n, vec2(bale.axis.x, -bale.axis.y)), BALE, mark);
}

fn meet_bales(ray: Ray, hit: ptr<function, Hit>) {
    let per = 1.0 / select(ray.d.yz, vec2(1e-6), abs(ray.d.yz) < vec2(1e-6));
    let a = (vec2(0.0, BALES_NEAR) - ray.o.yz) * per;
    let b = (vec2(BALES_HIGH, BALES_FAR) - ray.o.yz) * per;
    let start = min(a, b);
    let end = max(a, b);
    if min(end.x, end.y) < max(max(start.x, start.y), 0.0) {
        return;
    }
    for (var i = 0u; i < 8u; i++) {
        meet_bale(ray, BALES[i], i, hit);
    }
}

fn meet_capsule(ray: Ray, a: vec3<f32>, b: vec3<f32>, radius: f32, mark: u32, hit: ptr<function, Hit>) {
    let ba = b - a;
    let oa = ray.o - a;
    let baba = dot(ba, ba);
    let bad = dot(ba, ray.d);
    let baoa = dot(ba, oa);
    let k = baba - bad * bad;
    let l = baba * dot(ray.d, oa) - baoa * bad;
    let square = l * l - k * (baba * (dot(oa, oa) - radius * radius) - baoa * baoa);
    if square < 0.0 {
        return;
    }
    var t = (-l - sqrt(square)) / k;
    let y = baoa + t * bad;
    if y <= 0.0 || y >= baba { // past an end: a ball is there
        let oc = select(ray.o - b, oa, y <= 0.0);
        let m = dot(ray.d, oc);
        let root = m * m - dot(oc, oc) + radius * radius;
        if root < 0.0 {
            return;
        }
        t = -m - sqrt(root);
    }
    if t < 1e-4 || t >= (*hit).t {
        return;
    }
    *hit = Hit(t, normalize(oa + ray.d * t - ba * clamp(y / baba, 0.0, 1.0)), STALK, mark);
}

fn meet_stem(ray: Ray, wheat: Wheat, neck: vec3<f32>, mark: u32, hit: ptr<function, Hit>) {
    let root = vec3(wheat.x, 0.0, wheat.z);
    let knee = vec3(wheat.x + 0.03, wheat.tall, wheat.z);
    let to = vec2(wheat.x - 0.4 * wheat.lean, wheat.z - 0.025) - ray.o.xz;
    let miss = to.x * ray.d.z - to.y * ray.d.x;
    let wide = 0.6 * wheat.lean + 0.05;
    if miss * miss > wide * wide * dot(ray.d.xz, ray.d.xz) {
        return;
    }
    var last = root;
    for (var i = 1; i <= 6; i++) { // along a curve from root to neck
        let t = f32(i) / 6.0;
        let p = root * ((1.0 - t) * (1.0 - t)) + knee * (2.0 * (1.0 - t) * t) + neck * (t * t);
        meet_capsule(ray, last, p, 0.0055 - 0.0025 * t, mark, hit);
        last = p;
    }
}

fn meet_ear(ray: Ray, wheat: Wheat, neck: vec3<f32>, mark: u32, hit: ptr<function, Hit>) {
    let along = normalize(vec3(-1.0, wheat.bow, -0.25));
    let to = neck + along * 0.15 - ray.o;
    let ahead = dot(to, ray.d);
    if dot(to, to) - ahead * ahead > 0.0324 {
        return;
    }
    let side = normalize(cross(along, vec3(0.25, 0.0, -1.0)));
    let depth = cross(along, side);
    for (var i = 0u; i < 18u; i++) { // kernels to both sides, each with its awn
        let t = f32(i / 2u);
        let out = side * select(-0.8, 0.8, i % 2u == 0u) + depth * select(-0.5, 0.5, (i / 2u) % 2u == 0u);
        let base = neck + along * (0.021 * t) + vec3(0.0, -0.0009 * t * t, 0.0);
        let tip = base + along * 0.024 + out * 0.016;
        meet_capsule(ray, base + out * 0.007, tip, 0.0085, mark + i, hit);
        meet_capsule(ray, tip, tip + along * 0.11 + out * 0.035, 0.0012, mark, hit);
    }
}

// Ears that were left standing. They are too thin for the rounding of a long way, so they are met from close by.
fn meet_wheat(ray: Ray, hit: ptr<function, Hit>) {
    let to = WHEAT_CENTER - ray.o;
    let middle = dot(to, ray.d);
    if dot(to, to) - middle * middle > WHEAT_RADIUS * WHEAT_RADIUS || middle < -WHEAT_RADIUS {
        return;
    }
    let start = max(middle - WHEAT_RADIUS, 0.0);
    let close = Ray(ray.o + ray.d * start, ray.d);
    var near = Hit((*hit).t - start, (*hit).normal, SKY, 0u);
    for (var i = 0u; i < 3u; i++) {
        let wheat = WHEAT[i];
        let neck = vec3(wheat.x - wheat.lean, wheat.tall + 0.02, wheat.z - 0.05);
        meet_stem(close, wheat, neck, i, &near);
        meet_ear(close, wheat, neck, i * 20u, &near);
    }
    if near.thing == STALK {
        *hit = Hit(start + near.t, near.normal, STALK, near.mark);
    }
}

fn meet_stalk(ray: Ray, low: f32, cell: vec2<i32>, hit: ptr<function, Hit>) {
    let h = hash2(cell.x, cell.y);
    let near = clamp((STUBBLE_FAR - f32(cell.y) * STEP) * 0.11, 0.0, 1.0);
    let tall = STUBBLE * (0.45 + 0.55 * unit(h)) * near;
    let inside = vec2(0.35, 0.3) + vec2(0.3, 0.4) * vec2(unit(h * 0x85ebca6bu), unit(h * 0x9e3779b1u));
    let root = (vec2<f32>(cell) + inside) * vec2(ROW, STEP);
    let p = ray.o - vec3(root.x, 0.0, root.y);
    let miss = p.x * ray.d.z - p.z * ray.d.x; // how far it passes from the root, seen from above
    if low > tall || miss * miss > 0.0016 * dot(ray.d.xz, ray.d.xz) {
        return;
    }
    let axis = normalize(vec3((unit(h * 0xc2b2ae35u) - 0.5) * 0.5, 1.0, (unit(h * 0x27d4eb2fu) - 0.5) * 0.3));
    let radius = 0.0042 + 0.003 * unit(h * 0x165667b1u);
    let da = dot(ray.d, axis);
    let pa = dot(p, axis);
    let e = ray.d - axis * da;
    let q = p - axis * pa;
    let a = dot(e, e);
    let b = dot(q, e);
    let square = b * b - a * (dot(q, q) - radius * radius);
    if square < 0.0 {
        return;
    }
    let t = (-b - sqrt(square)) / a;
    let high = pa + t * da;
    if t < 1e-4 || t >= (*hit).t || high < 0.0 || high > tall {
        return;
    }
    *hit = Hit(t, normalize(q + e * t), STALK, h);
}

// Walks the cells of the stubble, a stalk in each, that the ray crosses below the tallest stalk. Like wheat, stalks
// are met from close by.
fn meet_stubble(ray: Ray, start: f32, end: f32, hit: ptr<function, Hit>) {
    let close = Ray(ray.o + ray.d * start, ray.d);
    var near = Hit(end - start, (*hit).normal, SKY, 0u);
    let p = close.o.xz / vec2(ROW, STEP);
    let back = ray.d.xz < vec2(0.0);
    let turn = select(vec2(1, 1), vec2(-1, -1), back);
    let every = vec2(ROW, STEP) / max(abs(ray.d.xz), vec2(1e-6));
    var leave = every * select(1.0 - (p - floor(p)), p - floor(p), back);
    var cell = vec2<i32>(floor(p));
    var enter = 0.0;
    for (var i = 0; i < CELLS_MAX; i++) {
        let t = min(leave.x, leave.y);
        meet_stalk(close, close.o.y + ray.d.y * select(enter, t, ray.d.y < 0.0), cell, &near);
        if near.t <= t {
            break;
        }
        enter = t;
        let across = leave.x < leave.y;
        cell += select(vec2(0, turn.y), vec2(turn.x, 0), across);
        leave += select(vec2(0.0, every.y), vec2(every.x, 0.0), across);
    }
    if near.thing == STALK {
        *hit = Hit(start + near.t, near.normal, STALK, near.mark);
    }
}

fn meet_field(ray: Ray, hit: ptr<function, Hit>) {
    let up = 1.0 / select(ray.d.y, 1e-6, abs(ray.d.y) < 1e-6);
    let ground = -ray.o.y * up;
    let top = (STUBBLE - ray.o.y) * up;
    if ground > 1e-4 && ground < (*hit).t && ground < HORIZON {
        *hit = Hit(ground, vec3(0.0, 1.0, 0.0), GROUND, 0u);
    }
    let start = max(min(ground, top), 0.0);
    let end = min(max(ground, top), (*hit).t);
    let z = ray.o.z + ray.d.z * start;
    if start >= end || z > STUBBLE_FAR || z < -1.0 {
        return;
    }
    for (var i = 0u; i < 12u; i++) {
        meet_sphere(ray, GRAINS[i].xyz, GRAINS[i].w, GRAIN, i, hit);
    }
    meet_stubble(ray, start, min(end, (*hit).t), hit);
}

fn trace(ray: Ray) -> Hit {
    var hit = Hit(1e9, vec3(0.0, 1.0, 0.0), SKY, 0u);
    for (var i = 0u; i < 4u; i++) {
        meet_sphere(ray, BALLS[i].center, BALLS[i].radius, BALLS[i].thing, i, &hit);
    }
    meet_bales(ray, &hit);
    meet_wheat(ray, &hit);
    meet_field(ray, &hit);
    return hit;
}

// ---- what things are made of ----

struct Matter { color: vec3<f32>, normal: vec3<f32> } // the share of light it gives back; the normal as light sees it

fn ground(p: vec3<f32>) -> Matter {
    let bump = vec2(noise(vec2(38.0, 21.0) * p.xz), noise(vec2(27.0, 41.0) * p.xz)) - 0.5;
    let rows = 0.5 - 0.5 * cos(6.2831853 * p.x / ROW);
    let patches = noise(vec2(0.45, 0.16) * p.xz) - 0.5;
    let chaff = 0.6 * noise(vec2(90.0, 23.0) * p.xz) + 0.4 * noise(vec2(31.0, 97.0) * p.xz);
    let soil = vec3(0.20, 0.12, 0.065) * (0.6 + 0.8 * chaff);
    let cover = 0.75 * smoothstep(0.42, 0.72, chaff + 0.12 * rows + 0.22 * patches);
    let close = mix(soil, STRAW * (0.6 + 0.6 * chaff), cover);
    let far = STRAW * (0.50 + 0.22 * rows + 0.3 * patches + 0.2 * (noise(vec2(2.0, 0.5) * p.xz) - 0.5));
    return Matter(mix(close, far, smoothstep(6.0, STUBBLE_FAR, p.z)), normalize(vec3(0.7 * bump.x, 1.0, 0.7 * bump.y)));
}

fn straw(p: vec3<f32>, bale: Bale, normal: vec3<f32>) -> Matter {
    let l = turned(p - bale.center, bale.axis);
    let r = length(l.yz);
    let angle = atan2(l.y, l.z);
    let fuzz = noise(vec2(l.y * 70.0 + l.x * 31.0, l.z * 60.0)) - 0.5;
    var fine = noise(vec2(l.x * 42.0, angle * 9.0));
    var dark = 1.0;
    if abs(l.x) > bale.half - 0.01 { // rolled up
        fine = noise(vec2(r * 38.0 + angle * 0.9549, angle * 3.0));
        dark = 0.85 + 0.15 * sin(r * 46.0 + angle);
    }
    let bent = normal + vec3((fine - 0.5) * 0.5, fuzz * 0.6, (fine - 0.5) * -0.4);
    return Matter(STRAW * ((0.65 + 0.6 * fine) * dark), normalize(bent));
}

fn matter(p: vec3<f32>, hit: Hit) -> Matter {
    switch hit.thing {
        case GROUND: { return ground(p); }
        case STALK: { return Matter(STRAW * (0.7 + 0.5 * unit(hit.mark * 0x9e3779b1u)), hit.normal); }
        case BALE: { return straw(p, BALES[hit.mark], hit.normal); }
        case GRAIN: { return Matter(vec3(1.0, 0.62, 0.16), hit.normal); }
        case GOLD: { return Matter(vec3(1.0, 0.66, 0.22), hit.normal); }
        case COPPER: { return Matter(vec3(0.96, 0.60, 0.45), hit.normal); }
        default: { return Matter(vec3(1.0), hit.normal); }
    }
}

fn plain_matter(hit: Hit) -> Matter { // without its pattern: enough for light that was scattered before
    let dull = select(vec3(0.62, 0.43, 0.19), vec3(0.34, 0.22, 0.10), hit.thing == GROUND);
    return Matter(select(dull, vec3(1.0, 0.66, 0.22), hit.thing >= GRAIN), hit.normal);
}

// ---- paths ----

fn around(axis: vec3<f32>, p: vec3<f32>) -> vec3<f32> { // `p` with its z turned to the axis
    let sign = select(1.0, -1.0, axis.z < 0.0);
    let a = -1.0 / (sign + axis.z);
    let b = axis.x * axis.y * a;
    let s = vec3(1.0 + sign * axis.x * axis.x * a, sign * b, -sign * axis.x);
    let t = vec3(b, sign + axis.y * axis.y * a, -axis.y);
    return s * p.x + t * p.y + axis * p.z;
}

// A direction within `spread` of the axis.
fn around_disc(axis: vec3<f32>, spread: f32, chance: ptr<function, Chance>) -> vec3<f32> {
    let r = sqrt(next(chance)) * spread;
    let a = 6.2831853 * next(chance);
    return normalize(around(axis, vec3(r * cos(a), r * sin(a), 1.0)));
}

fn around_cosine(normal: vec3<f32>, chance: ptr<function, Chance>) -> vec3<f32> { // as a dull surface scatters
    let u = next(chance);
    let a = 6.2831853 * next(chance);
    return around(normal, vec3(sqrt(u) * cos(a), sqrt(u) * sin(a), sqrt(max(1.0 - u, 0.0))));
}

fn outward(d: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    return select(d, reflect(d, normal), dot(d, normal) <= 0.0);
}

struct Path {
    ray: Ray,
    later: Ray, // where the path goes on after a ray to the sun
    light: vec3<f32>, // what was found so far
    share: vec3<f32>, // the share of what comes that reaches the eye
    sun: vec3<f32>, // what the ray to the sun brings if nothing is in its way
    to_sun: bool,
    scattered: i32,
}

// Through a ball of glass: in, across and out again, or off its surface.
fn pass_glass(path: ptr<function, Path>, hit: Hit, chance: ptr<function, Chance>) {
    let ball = BALLS[hit.mark];
    let d = (*path).ray.d;
    let p = (*path).ray.o + d * hit.t;
    let c = -dot(d, hit.normal);
    let m = 1.0 - c;
    if next(chance) < 0.04 + 0.96 * m * m * m * m * m {
        (*path).ray = Ray(p, reflect(d, hit.normal));
        return;
    }
    let k = sqrt(1.0 - (1.0 - c * c) / 2.25);
    let inside = d / 1.5 + hit.normal * (c / 1.5 - k);
    let q = p + inside * (2.0 * k * ball.radius);
    let back = (ball.center - q) / ball.radius; // it leaves at the angle at which it came
    (*path).ray = Ray(q, normalize(inside * 1.5 + back * (1.5 * k - c)));
}

fn reach_for_sun(path: ptr<function, Path>, hit: Hit) {
    if hit.thing == GLASS { // it gathers light in the middle of its shadow
        let c = -dot(hit.normal, (*path).ray.d);
        let c4 = c * c * c * c;
        (*path).sun *= 0.12 + 2.2 * c4 * c4 * c4;
        (*path).ray.o += (*path).ray.d * (hit.t + 2.0 * c * BALLS[hit.mark].radius + 1e-3);
        return;
    }
    if hit.thing == SKY {
        (*path).light += (*path).sun;
    }
    (*path).ray = (*path).later;
    (*path).to_sun = false;
}

fn glance_off(path: ptr<function, Path>, hit: Hit, color: vec3<f32>, chance: ptr<function, Chance>) {
    let ray = (*path).ray;
    let m = 1.0 + dot(ray.d, hit.normal);
    let spread = select(select(0.3, 0.22, hit.thing == COPPER), 0.06, hit.thing == GOLD);
    (*path).share *= mix(color, vec3(1.0), m * m * m * m * m);
    let d = around_disc(reflect(ray.d, hit.normal), spread, chance);
    (*path).ray = Ray(ray.o + ray.d * hit.t + hit.normal * 1e-4, outward(d, hit.normal));
}

fn scatter(path: ptr<function, Path>, hit: Hit, it: Matter, chance: ptr<function, Chance>) {
    (*path).share *= it.color;
    (*path).scattered++;
    if (*path).scattered == SCATTERED_MAX {
        (*path).light += (*path).share * 0.1; // nothing more is followed: about this much would come
    }
    let p = (*path).ray.o + (*path).ray.d * hit.t;
    let d = around_disc(SUN, SUN_RADIUS, chance);
    let facing = dot(d, it.normal);
    let share = max(facing, select(0.0, -0.5 * facing, hit.thing == STALK)); // straw lets some light through
    (*path).later = Ray(p + hit.normal * 1e-4, outward(around_cosine(it.normal, chance), hit.normal));
    (*path).sun = (*path).share * SUN_LIGHT * (share * 0.3183);
    (*path).to_sun = share > 0.0;
    (*path).ray = (*path).later;
    if (*path).to_sun {
        (*path).ray = Ray(p + hit.normal * select(-0.017, 1e-4, facing > 0.0), d);
    }
}

// Follows one path from the eye. Where it meets something dull, a ray to the sun comes in between.
fn follow(eye: Ray, chance: ptr<function, Chance>) -> vec3<f32> {
    var path = Path(eye, eye, vec3(0.0), vec3(1.0), vec3(0.0), false, 0);
    for (var i = 0; i < RAYS_MAX && (path.scattered < SCATTERED_MAX || path.to_sun); i++) {
        let hit = trace(path.ray);
        let d = path.ray.d;
        if path.to_sun {
            reach_for_sun(&path, hit);
            continue;
        }
        if hit.thing == SKY {
            if path.scattered > 0 {
                return path.light + path.share * haze(d);
            }
            return path.light + path.share * sky(d);
        }
        if path.scattered == 0 { // the evening's air
            let clear = exp(-0.0065 * hit.t);
            path.light += path.share * haze(normalize(vec3(d.x, max(d.y, 0.0), d.z))) * (1.0 - clear);
            path.share *= clear;
        }
        if hit.thing == GLASS {
            pass_glass(&path, hit, chance);
            continue;
        }
        var it = plain_matter(hit);
        if path.scattered == 0 {
            it = matter(path.ray.o + d * hit.t, hit);
        }
        if hit.thing >= GRAIN {
            glance_off(&path, hit, it.color, chance);
        } else {
            scatter(&path, hit, it, chance);
        }
    }
    return path.light;
}

fn camera(pixel: vec2<u32>, size: vec2<u32>, sample: u32) -> vec3<f32> {
    var chance = Chance(hash(pixel.y * size.x + pixel.x), sample, 0u);
    let u = (f32(pixel.x) + next(&chance) - 0.5 * f32(size.x)) / f32(size.y);
    let w = (0.5 * f32(size.y) - f32(pixel.y) - next(&chance)) / f32(size.y);
    let forward = normalize(vec3(0.02, -0.075, 1.0));
    let right = normalize(cross(vec3(0.0, 1.0, 0.0), forward));
    let up = cross(forward, right);
    let r = 0.011 * sqrt(next(&chance));
    let a = 6.2831853 * next(&chance);
    let focus = 3.75;
    let lens = right * (r * cos(a)) + up * (r * sin(a));
    let d = forward + right * (0.62 * u) + up * (0.62 * w);
    let light = follow(Ray(vec3(0.0, 0.92, 0.0) + lens, normalize(d * focus - lens)), &chance);
    return min(light, vec3(6.0)); // no fireflies
}
