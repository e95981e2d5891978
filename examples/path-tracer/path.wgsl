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
    return hash(u32(x) * 0x9e3779b1u + hash(u32(y)));
}

fn unit(bits: u32) -> f32 {
    return f32(bits >> 8u) * 5.9604645e-8;
}

struct Chance { pixel: u32, sample: u32, dimension: u32 }

// The first ten dimensions of a path walk a Kronecker sequence, turned by a random amount for each pixel: its points
// are spread more evenly than chance, so fewer are needed. The later ones are plain chance.
const KRONECKER_ = array(4020386218u, 3763359354u, 3522764445u, 3297550982u, 3086735617u,
                        2889397865u, 2704676091u, 2531763744u, 2369905837u, 2218395650u);

fn next(chance: ptr<function, Chance>) -> f32 {
    let d = (*chance).dimension;
    (*chance).dimension = d + 1u;
    let turn = hash((*chance).pixel + d * 0x85ebca6bu);
    if d < 10u {
        return unit(turn + ((*chance).sample + 1u) * KRONECKER[d]);
    }
    return unit(hash(turn + (*chance).sample));
}

fn noise(at: vec2<f32>) -> f32 { // smooth, 0 to 1, over a square grid
    let cell = floor(at);
    let i = vec2<i32>(cell);
    let u = (at - cell) * (at - cell) * (3.0 - 2.0 * (at - cell));
    let low = mix(unit(hash2(i.x, i.y)), unit(hash2(i.x + 1, i.y)), u.x);
    let high = mix(unit(hash2(i.x, i.y + 1)), unit(hash2(i.x + 1, i.y + 1)), u.x);
    return mix(low, high, u.y);
}

// ---- the scene ----

const SKY = 0u;
const GROUND = 1u;
const STALK = 2u;
const BALE = 3u;
const GRAIN = 4u;
const GOLD = 5u;
const COPPER = 6u;
const GLASS = 7u;

const BALLS_ = array( // center and radius
    vec4(0.62, 0.44, 3.9, 0.44), vec4(-0.52, 0.27, 4.3, 0.27), vec4(1.42, 0.2, 4.5, 0.2), vec4(-0.02, 0.13, 3.35, 0.13),
);
const BALL_THINGS_ = array(GLASS, GOLD, COPPER, GLASS);
const GRAINS_ = array( // center and radius
    vec4(-0.62, 0.045, 2.9, 0.045), vec4(-0.40, 0.04, 2.72, 0.04), vec4(-0.30, 0.05, 3.18, 0.05),
    vec4(0.20, 0.04, 2.8, 0.04), vec4(0.34, 0.05, 3.02, 0.05), vec4(0.10, 0.035, 2.58, 0.035),
    vec4(-0.12, 0.04, 3.85, 0.04), vec4(0.05, 0.05, 4.25, 0.05), vec4(-0.18, 0.04, 4.75, 0.04),
    vec4(0.13, 0.045, 5.3, 0.045), vec4(-0.95, 0.05, 3.5, 0.05), vec4(1.15, 0.045, 3.3, 0.045),
);
struct Bale { center: vec3<f32>, radius: f32, along: vec2<f32>, half: f32 } // `along`: where its axis points
const BALES_ = array(
    Bale(vec3(-5.5, 0.80, 13.6), 0.80, vec2(0.574, -0.819), 0.65),
    Bale(vec3(4.3, 0.72, 11.5), 0.72, vec2(0.342, 0.94), 0.6),
    Bale(vec3(0.4, 0.68, 19.0), 0.68, vec2(0.5, 0.866), 0.6),
    Bale(vec3(-7.5, 0.68, 20.0), 0.68, vec2(0.98, 0.199), 0.6),
    Bale(vec3(9.5, 0.68, 24.0), 0.68, vec2(0.342, 0.94), 0.6),
    Bale(vec3(-3.0, 0.68, 38.0), 0.68, vec2(0.866, -0.5), 0.6),
    Bale(vec3(12.0, 0.68, 46.0), 0.68, vec2(0.707, 0.707), 0.6),
    Bale(vec3(-17.0, 0.68, 44.0), 0.68, vec2(0.6, 0.8), 0.6),
);

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

// ---- light from the sky ----

fn haze(d: vec3<f32>) -> vec3<f32> { // the air's own colour, without clouds, hills and sun
    let h = clamp(d.y, 0.0, 1.0);
    let s = clamp(dot(d, SUN), 0.0, 1.0);
    let low = mix(vec3(0.80, 0.36, 0.22), vec3(0.40, 0.30, 0.42), smoothstep(0.0, 0.20, h));
    let color = mix(low, vec3(0.07, 0.13, 0.33), smoothstep(0.06, 0.55, h));
    let s4 = s * s * s * s;
    let s16 = s4 * s4 * s4 * s4;
    let s64 = s16 * s16 * s16 * s16;
    return color * (0.50 + 0.22 * s) + vec3(1.0, 0.40, 0.12) * (0.20 * s4) + vec3(1.0, 0.45, 0.13) * (0.45 * s16)
        + vec3(1.0, 0.60, 0.25) * (0.75 * s64);
}

fn clouds(d: vec3<f32>, behind: vec3<f32>) -> vec3<f32> {
    let p = vec2(1.4 * d.x, 2.2) / (d.y + 0.12);
    let n = 0.5 * noise(p) + 0.25 * noise(p * vec2(2.1, 2.3) + vec2(7.0, 0.0))
        + 0.125 * noise(p * vec2(4.3, 4.9) + vec2(0.0, 3.0)) + 0.0625 * noise(p * vec2(9.1, 10.3));
    let cover = smoothstep(0.46, 0.72, n) * smoothstep(0.03, 0.14, d.y) * 0.85;
    let s = clamp(dot(d, SUN), 0.0, 1.0);
    let s4 = s * s * s * s;
    return mix(behind, vec3(0.50, 0.30, 0.32) + vec3(1.5, 0.75, 0.32) * (s4 * s4 + 0.12), cover);
}

fn hills(d: vec3<f32>, behind: vec3<f32>) -> vec3<f32> {
    let a = d.x / d.z;
    let far = 0.030 + 0.034 * noise(vec2(3.1 * a + 5.0, 0.5)) + 0.010 * noise(vec2(11.0 * a, 3.5));
    let near = 0.004 + 0.026 * noise(vec2(4.3 * a + 1.7, 9.5)) + 0.007 * noise(vec2(60.0 * a, 1.5));
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

struct Hit { t: f32, normal: vec3<f32>, thing: u32, mark: u32 }

fn meet_sphere(o: vec3<f32>, d: vec3<f32>, ball: vec4<f32>, thing: u32, mark: u32, hit: ptr<function, Hit>) {
    let to = ball.xyz - o;
    let b = dot(to, d);
    let root = b * b - dot(to, to) + ball.w * ball.w;
    if root < 0.0 {
        return;
    }
    let t = b - sqrt(root);
    if t < 1e-3 || t >= (*hit).t {
        return;
    }
    *hit = Hit(t, (d * t - to) / ball.w, thing, mark);
}

fn turned(p: vec3<f32>, along: vec2<f32>) -> vec3<f32> { // with the bale's axis as x
    return vec3(p.x * along.x + p.z * along.y, p.y, p.z * along.x - p.x * along.y);
}

fn meet_bale(o: vec3<f32>, d: vec3<f32>, bale: Bale, mark: u32, hit: ptr<function, Hit>) {
    let q = turned(o - bale.center, bale.along);
    let e = turned(d, bale.along);
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
    *hit = Hit(t, turned(n, vec2(bale.along.x, -bale.along.y)), BALE, mark);
}

fn meet_stalk(o: vec3<f32>, d: vec3<f32>, start: f32, i: i32, j: i32, hit: ptr<function, Hit>) {
    let h = hash2(i, j);
    let z = (f32(j) + 0.3 + 0.4 * unit(h * 0x9e3779b1u)) * STEP;
    let tall = STUBBLE * (0.45 + 0.55 * unit(h)) * (1.0 - smoothstep(8.0, STUBBLE_FAR, z));
    let root = vec3((f32(i) + 0.35 + 0.3 * unit(h * 0x85ebca6bu)) * ROW, 0.0, z);
    let axis = normalize(vec3((unit(h * 0xc2b2ae35u) - 0.5) * 0.5, 1.0, (unit(h * 0x27d4eb2fu) - 0.5) * 0.3));
    let radius = 0.0042 + 0.003 * unit(h * 0x165667b1u);
    let p = o + d * start - root; // from close by: a stalk is too thin for the rounding of a long way
    let da = dot(d, axis);
    let pa = dot(p, axis);
    let e = d - axis * da;
    let q = p - axis * pa;
    let a = dot(e, e);
    let b = dot(q, e);
    let square = b * b - a * (dot(q, q) - radius * radius);
    if square < 0.0 {
        return;
    }
    let t = (-b - sqrt(square)) / a;
    let high = pa + t * da;
    if t < 1e-4 || start + t >= (*hit).t || high < 0.0 || high > tall {
        return;
    }
    *hit = Hit(start + t, normalize(q + e * t), STALK, h);
}

// Walks the cells of the stubble that the ray crosses below the tallest stalk.
fn meet_stubble(o: vec3<f32>, d: vec3<f32>, start: f32, end: f32, hit: ptr<function, Hit>) {
    let at = (o.xz + d.xz * start) / vec2(ROW, STEP);
    let back = d.xz < vec2(0.0);
    let turn = select(vec2(1, 1), vec2(-1, -1), back);
    let every = vec2(ROW, STEP) / max(abs(d.xz), vec2(1e-6));
    var leave = start + every * select(1.0 - (at - floor(at)), at - floor(at), back);
    var cell = vec2<i32>(floor(at));
    for (var i = 0; i < CELLS_MAX; i++) {
        meet_stalk(o, d, start, cell.x, cell.y, hit);
        let t = min(leave.x, leave.y);
        if t > end || (*hit).t <= t {
            return;
        }
        let across = leave.x < leave.y;
        cell += select(vec2(0, turn.y), vec2(turn.x, 0), across);
        leave += select(vec2(0.0, every.y), vec2(every.x, 0.0), across);
    }
}

fn trace(o: vec3<f32>, d: vec3<f32>) -> Hit {
    var hit = Hit(1e9, vec3(0.0, 1.0, 0.0), SKY, 0u);
    for (var i = 0u; i < 4u; i++) {
        meet_sphere(o, d, BALLS[i], BALL_THINGS[i], i, &hit);
    }
    for (var i = 0u; i < 8u; i++) {
        meet_bale(o, d, BALES[i], i, &hit);
    }
    let down = 1.0 / select(d.y, 1e-6, abs(d.y) < 1e-6);
    let ground = -o.y * down;
    let top = (STUBBLE - o.y) * down;
    if ground > 1e-4 && ground < hit.t && ground < HORIZON {
        hit = Hit(ground, vec3(0.0, 1.0, 0.0), GROUND, 0u);
    }
    let start = max(min(ground, top), 0.0);
    let end = min(max(ground, top), hit.t);
    if start >= end || o.z + d.z * start > STUBBLE_FAR || o.z + d.z * start < -1.0 {
        return hit;
    }
    for (var i = 0u; i < 12u; i++) {
        meet_sphere(o, d, GRAINS[i], GRAIN, i, &hit);
    }
    meet_stubble(o, d, start, end, &hit);
    return hit;
}

// ---- what things are made of ----

struct Matter { color: vec3<f32>, normal: vec3<f32> } // the share of light it gives back; the normal as light sees it

fn ground(p: vec3<f32>) -> Matter {
    let bump = vec2(noise(vec2(38.0, 21.0) * p.xz), noise(vec2(27.0, 41.0) * p.xz + vec2(9.0, 0.0))) - 0.5;
    let normal = normalize(vec3(0.7 * bump.x, 1.0, 0.7 * bump.y));
    let rows = 0.5 + 0.5 * cos(6.2831853 * (p.x / ROW - 0.5));
    let chaff = noise(vec2(90.0, 23.0) * p.xz) * 0.6 + noise(vec2(31.0, 97.0) * p.xz + vec2(5.0, 0.0)) * 0.4;
    let patches = noise(vec2(0.45, 0.16) * p.xz) - 0.5;
    let soil = vec3(0.20, 0.12, 0.065) * (0.6 + 0.8 * chaff);
    let straw = STRAW * (0.55 + 0.6 * chaff + 0.1 * noise(3.0 * p.xz));
    let close = mix(soil, straw, 0.75 * smoothstep(0.42, 0.72, chaff + 0.12 * rows + 0.22 * patches));
    let far = STRAW * (0.50 + 0.22 * rows + 0.3 * patches + 0.2 * (noise(vec2(2.0, 0.5) * p.xz) - 0.5));
    return Matter(mix(close, far, smoothstep(6.0, STUBBLE_FAR, p.z)), normal);
}

fn bale(p: vec3<f32>, bale: Bale, normal: vec3<f32>) -> Matter {
    let l = turned(p - bale.center, bale.along);
    let r = length(l.yz);
    let angle = atan2(l.y, l.z);
    let fuzz = noise(vec2(l.y * 70.0 + l.x * 31.0, l.z * 60.0)) - 0.5;
    var fine = noise(vec2(l.x * 42.0, angle * 9.0));
    var dark = 1.0;
    if abs(l.x) > bale.half - 0.01 {
        fine = noise(vec2(r * 38.0 + angle * 0.9549, angle * 3.0));
        dark = 0.85 + 0.15 * sin(r * 46.0 + angle);
    }
    let bent = normalize(normal + vec3((fine - 0.5) * 0.7, fuzz * 0.8, (fine - 0.5) * -0.5));
    return Matter(STRAW * ((0.55 + 0.65 * fine) * dark), bent);
}

fn matter(p: vec3<f32>, hit: Hit) -> Matter {
    switch hit.thing {
        case GROUND: { return ground(p); }
        case STALK: { return Matter(STRAW * (0.7 + 0.5 * unit(hit.mark * 0x9e3779b1u)), hit.normal); }
        case BALE: { return bale(p, BALES[hit.mark], hit.normal); }
        case GRAIN, GOLD: { return Matter(vec3(1.0, 0.66, 0.22), hit.normal); }
        case COPPER: { return Matter(vec3(0.96, 0.60, 0.45), hit.normal); }
        default: { return Matter(vec3(1.0), hit.normal); }
    }
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

fn around_disc(axis: vec3<f32>, spread: f32, chance: ptr<function, Chance>) -> vec3<f32> {
    let r = sqrt(next(chance)) * spread;
    let a = 6.2831853 * next(chance);
    return normalize(around(axis, vec3(r * cos(a), r * sin(a), 1.0)));
}

fn around_cosine(normal: vec3<f32>, chance: ptr<function, Chance>) -> vec3<f32> {
    let u = next(chance);
    let a = 6.2831853 * next(chance);
    return around(normal, vec3(sqrt(u) * cos(a), sqrt(u) * sin(a), sqrt(max(1.0 - u, 0.0))));
}

struct Ray { o: vec3<f32>, d: vec3<f32> }

// Through a ball of glass: in, across and out again, or off its surface.
fn pass_glass(ray: Ray, hit: Hit, chance: ptr<function, Chance>) -> Ray {
    let ball = BALLS[hit.mark];
    let n = hit.normal;
    let p = ray.o + ray.d * hit.t;
    let c = -dot(ray.d, n);
    let m = 1.0 - c;
    if next(chance) < 0.04 + 0.96 * m * m * m * m * m {
        return Ray(p, reflect(ray.d, n));
    }
    let eta = 1.0 / 1.5;
    let k = sqrt(1.0 - eta * eta * (1.0 - c * c));
    let inside = ray.d * eta + n * (eta * c - k);
    let q = p + inside * (2.0 * k * ball.w);
    let out = (ball.xyz - q) / ball.w; // against the ray; it leaves at the angle at which it came
    return Ray(q, normalize(inside * 1.5 + out * (1.5 * k - c)));
}

fn metal(ray: Ray, hit: Hit, spread: f32, chance: ptr<function, Chance>) -> Ray {
    let p = ray.o + ray.d * hit.t + hit.normal * 1e-4;
    let d = around_disc(reflect(ray.d, hit.normal), spread, chance);
    return Ray(p, select(d, reflect(d, hit.normal), dot(d, hit.normal) <= 0.0));
}

// Follows one path from the eye. Where it meets something dull, a ray to the sun comes in between.
fn path(eye: Ray, chance: ptr<function, Chance>) -> vec3<f32> {
    var ray = eye;
    var later = eye; // where the path goes on after the ray to the sun
    var light = vec3(0.0);
    var left = vec3(1.0); // of the light that the path will find, the share that reaches the eye
    var sun = vec3(0.0); // what the ray to the sun brings if nothing is in its way
    var to_sun = false;
    var seen = true; // nothing so far has scattered the light
    for (var i = 0; i < RAYS_MAX; i++) {
        let hit = trace(ray.o, ray.d);
        if to_sun {
            if hit.thing == GLASS { // it gathers light in the middle of its shadow
                let c = -dot(hit.normal, ray.d);
                let c4 = c * c * c * c;
                sun *= 0.12 + 2.2 * c4 * c4 * c4;
                ray.o += ray.d * (hit.t + 2.0 * c * BALLS[hit.mark].w + 1e-3);
                continue;
            }
            light += select(vec3(0.0), sun, hit.thing == SKY);
            ray = later;
            to_sun = false;
            continue;
        }
        if hit.thing == SKY {
            if seen {
                return light + left * sky(ray.d);
            }
            return light + left * haze(ray.d);
        }
        if seen {
            let clear = exp(-0.0065 * hit.t);
            light += left * haze(normalize(vec3(ray.d.x, max(ray.d.y, 0.0), ray.d.z))) * (1.0 - clear);
            left *= clear;
        }
        if hit.thing == GLASS {
            ray = pass_glass(ray, hit, chance);
            continue;
        }
        let p = ray.o + ray.d * hit.t;
        let it = matter(p, hit);
        if hit.thing >= GRAIN {
            let m = 1.0 + dot(ray.d, hit.normal);
            left *= mix(it.color, vec3(1.0), m * m * m * m * m);
            ray = metal(ray, hit, select(select(0.3, 0.22, hit.thing == COPPER), 0.06, hit.thing == GOLD), chance);
            continue;
        }
        left *= it.color;
        seen = false;
        let d = around_disc(SUN, SUN_RADIUS, chance);
        let facing = dot(d, it.normal);
        let bounce = around_cosine(it.normal, chance);
        later = Ray(p + hit.normal * 1e-4, select(bounce, reflect(bounce, hit.normal), dot(bounce, hit.normal) <= 0.0));
        ray = later;
        let share = select(max(facing, 0.0), select(facing, -0.5 * facing, facing < 0.0), hit.thing == STALK);
        if share > 0.0 {
            sun = left * SUN_LIGHT * (share * 0.3183);
            ray = Ray(p + hit.normal * select(-0.017, 1e-4, facing > 0.0), d); // straw lets some light through
            to_sun = true;
        }
    }
    return light;
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
    let shift = right * (r * cos(a)) + up * (r * sin(a));
    let d = normalize((forward + right * (0.62 * u) + up * (0.62 * w)) * 3.75 - shift);
    return min(path(Ray(vec3(0.0, 0.92, 0.0) + shift, d), &chance), vec3(6.0)); // no fireflies
}

var<private> BALLS: array<vec4<f32>,4> = BALLS_;
var<private> BALES: array<Bale,8> = BALES_;
var<private> GRAINS: array<vec4<f32>,12> = GRAINS_;
var<private> BALL_THINGS: array<u32,4> = BALL_THINGS_;
var<private> KRONECKER: array<u32,10> = KRONECKER_;
