// A harvested field in the last light of the day, path-traced: the wasm twin of path.wgsl.
//
//   path X Y WIDTH HEIGHT PICTURE_WIDTH PICTURE_HEIGHT SAMPLES > tile.rgba
//
// It renders one tile of the picture and writes it as RGBA, 8 bits each, row by row. Chance comes from integer
// hashes of pixel and sample alone, so a pixel is the same bytes whatever tile it is part of.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { float x, y, z; } vec3;

static vec3 v(float x, float y, float z) { return (vec3){x, y, z}; }
static vec3 add(vec3 a, vec3 b) { return v(a.x + b.x, a.y + b.y, a.z + b.z); }
static vec3 sub(vec3 a, vec3 b) { return v(a.x - b.x, a.y - b.y, a.z - b.z); }
static vec3 mul(vec3 a, vec3 b) { return v(a.x * b.x, a.y * b.y, a.z * b.z); }
static vec3 scale(vec3 a, float s) { return v(a.x * s, a.y * s, a.z * s); }
static float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec3 cross(vec3 a, vec3 b) { return v(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
static vec3 normalize(vec3 a) { return scale(a, 1.0f / sqrtf(dot(a, a))); }
static vec3 reflect(vec3 d, vec3 n) { return sub(d, scale(n, 2.0f * dot(d, n))); }
static float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
static float min(float a, float b) { return a < b ? a : b; }
static float max(float a, float b) { return a > b ? a : b; }
static float mixf(float a, float b, float t) { return a + (b - a) * t; }
static vec3 mix(vec3 a, vec3 b, float t) { return add(scale(a, 1.0f - t), scale(b, t)); }
static float smoothstep(float low, float high, float x) {
    float t = clamp((x - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

// ---- chance ----

static uint32_t hash(uint32_t x) { // PCG, Jarzynski and Olano 2020
    uint32_t state = x * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}
static uint32_t hash2(int32_t x, int32_t y) { return hash((uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u); }
static float unit(uint32_t bits) { return (float)(bits >> 8) * 5.9604645e-8f; }

// The first ten dimensions of a path walk a Kronecker sequence, turned by a random amount for each pixel: its points
// are spread more evenly than chance, so fewer are needed. The later ones are plain chance.
static const uint32_t STEPS[10] = {4020386218u, 3763359354u, 3522764445u, 3297550982u, 3086735617u,
                                   2889397865u, 2704676091u, 2531763744u, 2369905837u, 2218395650u};

typedef struct { uint32_t pixel, sample, dimension; } Chance;

static float next(Chance *chance) {
    uint32_t d = chance->dimension++;
    if (d < 10u) return unit(hash(chance->pixel + d * 0x85ebca6bu) + (chance->sample + 1u) * STEPS[d]);
    return unit(hash(hash(chance->pixel + d * 0x85ebca6bu) + chance->sample));
}

static float noise(float x, float y) { // smooth, 0 to 1, over a square grid
    float fx = floorf(x), fy = floorf(y), u = x - fx, w = y - fy;
    int32_t i = (int32_t)fx, j = (int32_t)fy;
    u = u * u * (3.0f - 2.0f * u);
    w = w * w * (3.0f - 2.0f * w);
    float low = mixf(unit(hash2(i, j)), unit(hash2(i + 1, j)), u);
    float high = mixf(unit(hash2(i, j + 1)), unit(hash2(i + 1, j + 1)), u);
    return mixf(low, high, w);
}

// ---- the scene ----

typedef enum { SKY, GROUND, STALK, BALE, GRAIN, GOLD, COPPER, GLASS } Thing;
typedef struct { vec3 center; float radius; Thing thing; } Sphere;
typedef struct { vec3 center; float radius, half, cos, sin; } Bale;
typedef struct { float t; vec3 normal; Thing thing; uint32_t mark; } Hit;

static const Sphere BALLS[] = {
    {{0.62f, 0.44f, 3.9f}, 0.44f, GLASS},
    {{-0.52f, 0.27f, 4.3f}, 0.27f, GOLD},
    {{1.42f, 0.2f, 4.5f}, 0.2f, COPPER},
    {{-0.02f, 0.13f, 3.35f}, 0.13f, GLASS},
};
static const Sphere GRAINS[] = {
    {{-0.62f, 0.045f, 2.9f}, 0.045f, GRAIN}, {{-0.40f, 0.04f, 2.72f}, 0.04f, GRAIN},
    {{-0.30f, 0.05f, 3.18f}, 0.05f, GRAIN},  {{0.20f, 0.04f, 2.8f}, 0.04f, GRAIN},
    {{0.34f, 0.05f, 3.02f}, 0.05f, GRAIN},   {{0.10f, 0.035f, 2.58f}, 0.035f, GRAIN},
    {{-0.12f, 0.04f, 3.85f}, 0.04f, GRAIN},  {{0.05f, 0.05f, 4.25f}, 0.05f, GRAIN},
    {{-0.18f, 0.04f, 4.75f}, 0.04f, GRAIN},  {{0.13f, 0.045f, 5.3f}, 0.045f, GRAIN},
    {{-0.95f, 0.05f, 3.5f}, 0.05f, GRAIN},   {{1.15f, 0.045f, 3.3f}, 0.045f, GRAIN},
};
static const Bale BALES[] = {
    {{-5.5f, 0.80f, 13.6f}, 0.80f, 0.65f, 0.574f, -0.819f},  {{4.3f, 0.72f, 11.5f}, 0.72f, 0.6f, 0.342f, 0.94f},
    {{0.4f, 0.68f, 19.0f}, 0.68f, 0.6f, 0.5f, 0.866f},    {{-7.5f, 0.68f, 20.0f}, 0.68f, 0.6f, 0.98f, 0.199f},
    {{9.5f, 0.68f, 24.0f}, 0.68f, 0.6f, 0.342f, 0.94f},   {{-3.0f, 0.68f, 38.0f}, 0.68f, 0.6f, 0.866f, -0.5f},
    {{12.0f, 0.68f, 46.0f}, 0.68f, 0.6f, 0.707f, 0.707f}, {{-17.0f, 0.68f, 44.0f}, 0.68f, 0.6f, 0.6f, 0.8f},
};
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

static const vec3 SUN = {-0.3960f, 0.1478f, 0.9063f};
static const vec3 SUN_LIGHT = {8.5f, 4.3f, 1.6f};
static const float SUN_RADIUS = 0.018f; // radians; thrice the real one, for softer shadows
static const vec3 STRAW = {0.72f, 0.50f, 0.22f};

static const float HORIZON = 300.0f;            // beyond it there are only hills
static const float BALES_NEAR = 10.0f, BALES_FAR = 48.0f, BALES_HIGH = 1.61f; // where bales are
static const float ROW = 0.17f, STEP = 0.055f; // stubble: distance of rows, and of stalks in a row
static const float STUBBLE = 0.13f;            // the tallest stalk
static const float STUBBLE_FAR = 17.0f;        // further away the ground's texture stands for it
#define CELLS_MAX 40
#define RAYS_MAX 12
#define SCATTERED_MAX 3

// ---- light from the sky ----

static vec3 haze(vec3 d) { // the air's own colour, without clouds, hills and sun
    float h = clamp(d.y, 0.0f, 1.0f), s = clamp(dot(d, SUN), 0.0f, 1.0f);
    vec3 low = v(0.80f, 0.36f, 0.22f), middle = v(0.40f, 0.30f, 0.42f), high = v(0.07f, 0.13f, 0.33f);
    vec3 color = mix(mix(low, middle, smoothstep(0.0f, 0.20f, h)), high, smoothstep(0.06f, 0.55f, h));
    float s4 = s * s * s * s, s16 = s4 * s4 * s4 * s4, s64 = s16 * s16 * s16 * s16;
    color = add(scale(color, 0.50f + 0.22f * s), scale(v(1.0f, 0.40f, 0.12f), 0.20f * s4));
    return add(color, add(scale(v(1.0f, 0.45f, 0.13f), 0.45f * s16), scale(v(1.0f, 0.60f, 0.25f), 0.75f * s64)));
}

static vec3 clouds(vec3 d, vec3 behind) {
    float x = 1.4f * d.x / (d.y + 0.12f), y = 2.2f / (d.y + 0.12f);
    float n = 0.5f * noise(x, y) + 0.25f * noise(2.1f * x + 7.0f, 2.3f * y) + 0.125f * noise(4.3f * x, 4.9f * y + 3.0f) +
              0.0625f * noise(9.1f * x, 10.3f * y);
    float cover = smoothstep(0.46f, 0.72f, n) * smoothstep(0.03f, 0.14f, d.y) * 0.85f;
    float s = clamp(dot(d, SUN), 0.0f, 1.0f), s8 = s * s * s * s;
    s8 = s8 * s8;
    vec3 lit = add(v(0.50f, 0.30f, 0.32f), scale(v(1.5f, 0.75f, 0.32f), s8 + 0.12f));
    return mix(behind, lit, cover);
}

static vec3 hills(vec3 d, vec3 behind) {
    float a = d.x / d.z;
    float far = 0.030f + 0.034f * noise(3.1f * a + 5.0f, 0.5f) + 0.010f * noise(11.0f * a, 3.5f);
    float near = 0.004f + 0.026f * noise(4.3f * a + 1.7f, 9.5f) + 0.007f * noise(60.0f * a, 1.5f);
    vec3 air = haze(v(d.x, 0.0f, d.z));
    if (d.y < near) return add(scale(air, 0.38f), v(0.01f, 0.012f, 0.01f));
    if (d.y < far) return add(scale(air, 0.66f), v(0.0f, 0.005f, 0.03f));
    return behind;
}

static vec3 sky(vec3 d) { // what an eye sees there
    vec3 color = clouds(d, haze(d));
    float s = dot(d, SUN);
    if (s > 0.99984f) color = v(60.0f, 38.0f, 18.0f);
    if (d.z > 0.0f && d.y < 0.08f) color = hills(d, color);
    return color;
}

// ---- intersections: each improves the hit if it is nearer ----

static void meet_sphere(vec3 o, vec3 d, const Sphere *sphere, uint32_t mark, Hit *hit) {
    vec3 to = sub(sphere->center, o);
    float b = dot(to, d), c = dot(to, to) - sphere->radius * sphere->radius, root = b * b - c;
    if (root < 0.0f) return;
    float t = b - sqrtf(root);
    if (t < 1e-3f || t >= hit->t) return;
    hit->t = t;
    hit->normal = scale(sub(scale(d, t), to), 1.0f / sphere->radius);
    hit->thing = sphere->thing;
    hit->mark = mark;
}

static void meet_bale(vec3 o, vec3 d, const Bale *bale, uint32_t mark, Hit *hit) {
    vec3 p = sub(o, bale->center);
    vec3 q = v(p.x * bale->cos + p.z * bale->sin, p.y, p.z * bale->cos - p.x * bale->sin); // its axis is x here
    vec3 e = v(d.x * bale->cos + d.z * bale->sin, d.y, d.z * bale->cos - d.x * bale->sin);
    float a = e.y * e.y + e.z * e.z, b = q.y * e.y + q.z * e.z;
    float root = b * b - a * (q.y * q.y + q.z * q.z - bale->radius * bale->radius);
    if (root < 0.0f) return;
    float side = (-b - sqrtf(root)) / a, leave = (-b + sqrtf(root)) / a;
    float cap = ((e.x > 0.0f ? -bale->half : bale->half) - q.x) / e.x;
    float t = max(side, cap);
    if (t < 1e-3f || t >= hit->t || t > leave || fabsf(q.x + t * e.x) > bale->half + 1e-4f) return;
    vec3 n = v(0.0f, (q.y + t * e.y) / bale->radius, (q.z + t * e.z) / bale->radius);
    if (cap > side) n = v(e.x > 0.0f ? -1.0f : 1.0f, 0.0f, 0.0f);
    hit->t = t;
    hit->normal = v(n.x * bale->cos - n.z * bale->sin, n.y, n.x * bale->sin + n.z * bale->cos);
    hit->thing = BALE;
    hit->mark = mark;
}

static void meet_stalk(vec3 o, vec3 d, float low, int32_t i, int32_t j, Hit *hit) {
    uint32_t h = hash2(i, j);
    float tall = STUBBLE * (0.45f + 0.55f * unit(h)) * clamp((STUBBLE_FAR - (float)j * STEP) * 0.11f, 0.0f, 1.0f);
    if (low > tall) return;
    vec3 p = v(o.x - ((float)i + 0.35f + 0.3f * unit(h * 0x85ebca6bu)) * ROW, o.y,
               o.z - ((float)j + 0.3f + 0.4f * unit(h * 0x9e3779b1u)) * STEP);
    float miss = p.x * d.z - p.z * d.x; // the distance at which it passes the root, seen from above
    if (miss * miss > 0.0016f * (d.x * d.x + d.z * d.z)) return;
    vec3 axis = normalize(v((unit(h * 0xc2b2ae35u) - 0.5f) * 0.5f, 1.0f, (unit(h * 0x27d4eb2fu) - 0.5f) * 0.3f));
    float radius = 0.0042f + 0.003f * unit(h * 0x165667b1u), da = dot(d, axis), pa = dot(p, axis);
    vec3 e = sub(d, scale(axis, da)), q = sub(p, scale(axis, pa));
    float a = dot(e, e), b = dot(q, e), square = b * b - a * (dot(q, q) - radius * radius);
    if (square < 0.0f) return;
    float t = (-b - sqrtf(square)) / a, high = pa + t * da;
    if (t < 1e-4f || t >= hit->t || high < 0.0f || high > tall) return;
    *hit = (Hit){t, normalize(add(q, scale(e, t))), STALK, h};
}

// Walks the cells of the stubble that the ray crosses below the tallest stalk, from `start` to `end`. The walk has an
// origin of its own close by, since stalks are too thin for the rounding of a long way.
static void meet_stubble(vec3 from, vec3 d, float start, float end, Hit *hit) {
    vec3 o = add(from, scale(d, start));
    Hit near = {end - start, hit->normal, SKY, 0};
    float x = o.x / ROW, z = o.z / STEP, i = floorf(x), j = floorf(z);
    float step_i = d.x < 0.0f ? -1.0f : 1.0f, step_j = d.z < 0.0f ? -1.0f : 1.0f;
    float every_x = ROW / max(fabsf(d.x), 1e-6f), every_z = STEP / max(fabsf(d.z), 1e-6f);
    float next_x = every_x * (d.x < 0.0f ? x - i : 1.0f - (x - i));
    float next_z = every_z * (d.z < 0.0f ? z - j : 1.0f - (z - j)), t = 0.0f;
    for (int cell = 0; cell < CELLS_MAX; cell++) {
        float leave = min(next_x, next_z);
        meet_stalk(o, d, o.y + d.y * (d.y < 0.0f ? leave : t), (int32_t)i, (int32_t)j, &near);
        if (near.t <= leave) break;
        t = leave;
        if (next_x < next_z) {
            i += step_i;
            next_x += every_x;
        } else {
            j += step_j;
            next_z += every_z;
        }
    }
    if (near.thing == STALK) *hit = (Hit){start + near.t, near.normal, STALK, near.mark};
}

static Hit trace(vec3 o, vec3 d) {
    Hit hit = {1e9f, {0.0f, 1.0f, 0.0f}, SKY, 0};
    for (int i = 0; i < COUNT(BALLS); i++) meet_sphere(o, d, &BALLS[i], (uint32_t)i, &hit);
    float down = 1.0f / (fabsf(d.y) < 1e-6f ? 1e-6f : d.y);
    float ahead = 1.0f / (fabsf(d.z) < 1e-6f ? 1e-6f : d.z), a = (BALES_NEAR - o.z) * ahead, b = (BALES_FAR - o.z) * ahead;
    float c = (BALES_HIGH - o.y) * down;
    float ground = -o.y * down;
    if (max(min(a, b), min(c, ground)) < min(max(a, b), max(c, ground))) {
        for (int i = 0; i < COUNT(BALES); i++) meet_bale(o, d, &BALES[i], (uint32_t)i, &hit);
    }
    float top = (STUBBLE - o.y) * down;
    if (ground > 1e-4f && ground < hit.t && ground < HORIZON) hit = (Hit){ground, {0.0f, 1.0f, 0.0f}, GROUND, 0};
    float from = max(min(ground, top), 0.0f), to = min(max(ground, top), hit.t);
    if (from >= to || o.z + d.z * from > STUBBLE_FAR || o.z + d.z * from < -1.0f) return hit;
    for (int i = 0; i < COUNT(GRAINS); i++) meet_sphere(o, d, &GRAINS[i], (uint32_t)i, &hit);
    meet_stubble(o, d, from, to, &hit);
    return hit;
}

// ---- what things are made of ----

static vec3 straw_color(vec3 p, float fine) {
    return scale(STRAW, 0.55f + 0.6f * fine + 0.1f * noise(3.0f * p.x, 3.0f * p.z));
}

static vec3 ground_color(vec3 p) {
    float rows = 0.5f + 0.5f * cosf(6.2831853f * (p.x / ROW - 0.5f));
    float chaff = noise(90.0f * p.x, 23.0f * p.z) * 0.6f + noise(31.0f * p.x + 5.0f, 97.0f * p.z) * 0.4f;
    float patch = noise(0.45f * p.x, 0.16f * p.z);
    vec3 soil = scale(v(0.20f, 0.12f, 0.065f), 0.6f + 0.8f * chaff);
    float far = smoothstep(6.0f, STUBBLE_FAR, p.z);
    float straw = smoothstep(0.42f, 0.72f, chaff + 0.12f * rows + 0.22f * (patch - 0.5f));
    vec3 near_color = mix(soil, straw_color(p, chaff), 0.75f * straw);
    vec3 far_color = scale(STRAW, 0.50f + 0.22f * rows + 0.3f * (patch - 0.5f) + 0.2f * (noise(2.0f * p.x, 0.5f * p.z) - 0.5f));
    return mix(near_color, far_color, far);
}

static vec3 bale_color(vec3 p, const Bale *bale, vec3 *n) {
    vec3 l = sub(p, bale->center);
    float along = l.x * bale->cos + l.z * bale->sin, across = l.z * bale->cos - l.x * bale->sin;
    float r = sqrtf(l.y * l.y + across * across), angle = atan2f(l.y, across);
    float cap = fabsf(along) > bale->half - 0.01f ? 1.0f : 0.0f;
    float rings = noise(r * 38.0f + angle * 0.9549f, angle * 3.0f), wraps = noise(along * 42.0f, angle * 9.0f);
    float fine = cap > 0.5f ? rings : wraps;
    float fuzz = noise(l.y * 70.0f + along * 31.0f, across * 60.0f) - 0.5f;
    *n = normalize(add(*n, v((fine - 0.5f) * 0.7f, fuzz * 0.8f, (fine - 0.5f) * -0.5f)));
    float dark = cap > 0.5f ? 0.85f + 0.15f * sinf(r * 46.0f + angle) : 1.0f;
    return scale(STRAW, (0.55f + 0.65f * fine) * dark);
}

static vec3 matter(vec3 p, vec3 d, Hit *hit) { // the share of light it gives back; may bend the normal
    switch (hit->thing) {
    case GROUND: {
        float a = noise(38.0f * p.x, 21.0f * p.z) - 0.5f, b = noise(27.0f * p.x + 9.0f, 41.0f * p.z) - 0.5f;
        hit->normal = normalize(v(0.7f * a, 1.0f, 0.7f * b));
        return ground_color(p);
    }
    case STALK: return scale(STRAW, 0.7f + 0.5f * unit(hit->mark * 0x9e3779b1u));
    case BALE: return bale_color(p, &BALES[hit->mark], &hit->normal);
    case GRAIN:
    case GOLD: return v(1.0f, 0.66f, 0.22f);
    case COPPER: return v(0.96f, 0.60f, 0.45f);
    case GLASS:
    case SKY: break;
    }
    (void)d;
    return v(1.0f, 1.0f, 1.0f);
}

static vec3 rough_matter(const Hit *hit) { // enough for light that has been scattered before
    switch (hit->thing) {
    case GROUND: return v(0.34f, 0.22f, 0.10f);
    case STALK:
    case BALE: return v(0.62f, 0.43f, 0.19f);
    case GRAIN:
    case GOLD: return v(1.0f, 0.66f, 0.22f);
    case COPPER: return v(0.96f, 0.60f, 0.45f);
    case GLASS:
    case SKY: break;
    }
    return v(1.0f, 1.0f, 1.0f);
}

// ---- paths ----

typedef struct { vec3 o, d; } Ray;

static vec3 around(vec3 axis, float x, float y, float z) { // (x, y, z) with z turned to the axis
    float sign = axis.z < 0.0f ? -1.0f : 1.0f, a = -1.0f / (sign + axis.z), b = axis.x * axis.y * a;
    vec3 s = v(1.0f + sign * axis.x * axis.x * a, sign * b, -sign * axis.x), t = v(b, sign + axis.y * axis.y * a, -axis.y);
    return add(add(scale(s, x), scale(t, y)), scale(axis, z));
}

static vec3 around_disc(vec3 axis, float spread, Chance *chance) { // a direction within `spread` of the axis
    float r = sqrtf(next(chance)) * spread, a = 6.2831853f * next(chance);
    return normalize(around(axis, r * cosf(a), r * sinf(a), 1.0f));
}

static vec3 around_cosine(vec3 n, Chance *chance) {
    float u = next(chance), r = sqrtf(u), a = 6.2831853f * next(chance);
    return around(n, r * cosf(a), r * sinf(a), sqrtf(max(1.0f - u, 0.0f)));
}

// Through a ball of glass: in, across and out again, or off its surface.
static void pass_glass(vec3 *o, vec3 *d, const Hit *hit, Chance *chance) {
    const Sphere *ball = &BALLS[hit->mark];
    vec3 n = hit->normal, p = add(*o, scale(*d, hit->t));
    float c = -dot(*d, n), m = 1.0f - c, fresnel = 0.04f + 0.96f * m * m * m * m * m;
    if (next(chance) < fresnel) {
        *o = p;
        *d = reflect(*d, n);
        return;
    }
    float eta = 1.0f / 1.5f, k = sqrtf(1.0f - eta * eta * (1.0f - c * c));
    vec3 inside = add(scale(*d, eta), scale(n, eta * c - k));
    vec3 q = add(p, scale(inside, 2.0f * k * ball->radius));
    vec3 out = scale(sub(q, ball->center), -1.0f / ball->radius); // against the ray, and it leaves as it came
    *o = q;
    *d = normalize(add(scale(inside, 1.5f), scale(out, 1.5f * k - c)));
}

// Follows one path from the eye. Where it meets something dull, a ray to the sun comes in between.
static vec3 path(Ray ray, Chance *chance) {
    Ray later = ray; // where the path goes on after the ray to the sun
    vec3 light = v(0.0f, 0.0f, 0.0f), left = v(1.0f, 1.0f, 1.0f), sun = light;
    int to_sun = 0, scattered = 0;
    for (int i = 0; i < RAYS_MAX; i++) {
        Hit hit = trace(ray.o, ray.d);
        if (to_sun) {
            if (hit.thing == GLASS) { // it gathers light in the middle of its shadow
                float c = -dot(hit.normal, ray.d), c4 = c * c * c * c;
                sun = scale(sun, 0.12f + 2.2f * c4 * c4 * c4);
                ray.o = add(ray.o, scale(ray.d, hit.t + 2.0f * c * BALLS[hit.mark].radius + 1e-3f));
                continue;
            }
            if (hit.thing == SKY) light = add(light, sun);
            if (scattered == SCATTERED_MAX) return light;
            ray = later;
            to_sun = 0;
            continue;
        }
        if (hit.thing == SKY) return add(light, mul(left, scattered ? haze(ray.d) : sky(ray.d)));
        if (!scattered) {
            float clear = expf(-0.0065f * hit.t);
            vec3 air = haze(normalize(v(ray.d.x, max(ray.d.y, 0.0f), ray.d.z)));
            light = add(light, mul(left, scale(air, 1.0f - clear)));
            left = scale(left, clear);
        }
        if (hit.thing == GLASS) {
            pass_glass(&ray.o, &ray.d, &hit, chance);
            continue;
        }
        vec3 p = add(ray.o, scale(ray.d, hit.t)), geometric = hit.normal;
        vec3 color = scattered ? rough_matter(&hit) : matter(p, ray.d, &hit);
        if (hit.thing >= GRAIN) {
            float m = 1.0f + dot(ray.d, hit.normal), m5 = m * m * m * m * m;
            float rough = hit.thing == GOLD ? 0.06f : hit.thing == COPPER ? 0.22f : 0.3f;
            left = mul(left, mix(color, v(1.0f, 1.0f, 1.0f), m5));
            ray.d = around_disc(reflect(ray.d, hit.normal), rough, chance);
            if (dot(ray.d, geometric) <= 0.0f) ray.d = reflect(ray.d, geometric);
            ray.o = add(p, scale(geometric, 1e-4f));
            continue;
        }
        left = mul(left, color);
        if (++scattered == SCATTERED_MAX) light = add(light, scale(left, 0.1f)); // for all the light that follows
        vec3 d = around_disc(SUN, SUN_RADIUS, chance), bounce = around_cosine(hit.normal, chance);
        if (dot(bounce, geometric) <= 0.0f) bounce = reflect(bounce, geometric);
        float facing = dot(d, hit.normal);
        float share = facing > 0.0f ? facing : hit.thing == STALK ? -0.5f * facing : 0.0f; // straw lets some through
        later.o = add(p, scale(geometric, 1e-4f));
        later.d = bounce;
        ray = later;
        if (share > 0.0f) {
            sun = mul(left, scale(SUN_LIGHT, share * 0.3183f));
            ray.o = add(p, scale(geometric, facing > 0.0f ? 1e-4f : -0.017f));
            ray.d = d;
            to_sun = 1;
        } else if (scattered == SCATTERED_MAX) {
            return light;
        }
    }
    return light;
}

static vec3 camera(uint32_t x, uint32_t y, uint32_t width, uint32_t height, Chance *chance) {
    float u = ((float)x + next(chance) - 0.5f * (float)width) / (float)height;
    float w = (0.5f * (float)height - (float)y - next(chance)) / (float)height;
    vec3 eye = v(0.0f, 0.92f, 0.0f), forward = normalize(v(0.02f, -0.075f, 1.0f));
    vec3 right = normalize(cross(v(0.0f, 1.0f, 0.0f), forward)), up = cross(forward, right);
    vec3 d = add(forward, add(scale(right, 0.62f * u), scale(up, 0.62f * w)));
    float r = 0.011f * sqrtf(next(chance)), a = 6.2831853f * next(chance), focus = 3.75f;
    vec3 shift = add(scale(right, r * cosf(a)), scale(up, r * sinf(a)));
    vec3 light = path((Ray){add(eye, shift), normalize(sub(scale(d, focus), shift))}, chance);
    return v(min(light.x, 6.0f), min(light.y, 6.0f), min(light.z, 6.0f)); // no fireflies
}

static uint8_t develop(float x) { // Narkowicz's fit of the ACES film curve, then sRGB
    x *= 0.95f;
    float film = clamp(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0.0f, 1.0f);
    float srgb = film < 0.0031308f ? 12.92f * film : 1.055f * powf(film, 1.0f / 2.4f) - 0.055f;
    return (uint8_t)(srgb * 255.0f + 0.5f);
}

int main(int count, char **args) {
    if (count != 8) {
        fprintf(stderr, "usage: path X Y WIDTH HEIGHT PICTURE_WIDTH PICTURE_HEIGHT SAMPLES\n");
        return 2;
    }
    uint32_t a[7];
    for (int i = 0; i < 7; i++) a[i] = (uint32_t)strtoul(args[i + 1], NULL, 10);
    for (uint32_t y = a[1]; y < a[1] + a[3]; y++) {
        for (uint32_t x = a[0]; x < a[0] + a[2]; x++) {
            vec3 sum = v(0.0f, 0.0f, 0.0f);
            for (uint32_t s = 0; s < a[6]; s++) {
                Chance chance = {hash(y * a[4] + x), s, 0};
                sum = add(sum, camera(x, y, a[4], a[5], &chance));
            }
            sum = scale(sum, 1.0f / (float)a[6]);
            uint8_t pixel[4] = {develop(sum.x), develop(sum.y), develop(sum.z), 255};
            fwrite(pixel, 4, 1, stdout);
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
