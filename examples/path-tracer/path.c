// A harvested field in the last light of the day, path-traced: path.wgsl as a WASI program.
//
//   path X Y WIDTH HEIGHT PICTURE_WIDTH PICTURE_HEIGHT SAMPLES > tile.rgba
//
// It renders one tile of the picture and writes it as RGBA, 8 bits each, row by row. Chance comes from integer
// hashes of pixel and sample alone, so a pixel is the same bytes whatever tile it is part of.
#include <math.h>
#include <stdbool.h>
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
static float min(float a, float b) { return a < b ? a : b; }
static float max(float a, float b) { return a > b ? a : b; }
static float clamp(float x, float low, float high) { return min(max(x, low), high); }
static float mixf(float a, float b, float t) { return a + (b - a) * t; }
static vec3 mix(vec3 a, vec3 b, float t) { return add(scale(a, 1.0f - t), scale(b, t)); }
static float smoothstep(float low, float high, float x) {
    float t = clamp((x - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

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
static const uint32_t KRONECKER[10] = {4020386218u, 3763359354u, 3522764445u, 3297550982u, 3086735617u,
                                       2889397865u, 2704676091u, 2531763744u, 2369905837u, 2218395650u};

typedef struct { uint32_t pixel, sample, dimension; } Chance;

static float next(Chance *chance) {
    uint32_t d = chance->dimension++, turn = hash(chance->pixel + d * 0x85ebca6bu);
    return unit(d < 10u ? turn + (chance->sample + 1u) * KRONECKER[d] : hash(turn + chance->sample));
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

// What is dull comes first, then metals, then glass.
typedef enum { SKY, GROUND, STALK, BALE, GRAIN, GOLD, COPPER, GLASS } Thing;
typedef struct { vec3 center; float radius; Thing thing; } Sphere;
typedef struct { vec3 center; float radius, half, cos, sin; } Bale; // cos and sin: where its axis points
typedef struct { float x, z, tall, lean, bow; } Wheat;

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
    {{-5.5f, 0.80f, 13.6f}, 0.80f, 0.65f, 0.574f, -0.819f}, {{3.75f, 0.72f, 12.6f}, 0.72f, 0.6f, 0.342f, 0.94f},
    {{0.4f, 0.68f, 19.0f}, 0.68f, 0.6f, 0.5f, 0.866f},      {{-7.5f, 0.68f, 20.0f}, 0.68f, 0.6f, 0.98f, 0.199f},
    {{9.5f, 0.68f, 24.0f}, 0.68f, 0.6f, 0.342f, 0.94f},     {{-3.0f, 0.68f, 38.0f}, 0.68f, 0.6f, 0.866f, -0.5f},
    {{12.0f, 0.68f, 46.0f}, 0.68f, 0.6f, 0.707f, 0.707f},   {{-17.0f, 0.68f, 44.0f}, 0.68f, 0.6f, 0.6f, 0.8f},
};
static const float BALES_NEAR = 11.0f, BALES_FAR = 48.0f, BALES_HIGH = 1.61f; // where bales are
static const Wheat WHEAT[] = {
    {1.47f, 2.85f, 1.33f, 0.26f, -0.15f}, {1.66f, 3.1f, 1.24f, 0.20f, -0.55f}, {1.36f, 3.0f, 1.07f, 0.14f, 0.15f},
};
static const vec3 WHEAT_CENTER = {1.35f, 0.7f, 2.95f}; // of a ball around all of it
static const float WHEAT_RADIUS = 0.82f;

static const vec3 SUN = {-0.3960f, 0.1478f, 0.9063f};
static const vec3 SUN_LIGHT = {8.5f, 4.3f, 1.6f};
static const float SUN_RADIUS = 0.018f; // radians; four times the real one, for softer shadows
static const vec3 STRAW = {0.72f, 0.50f, 0.22f};
static const vec3 WHITE = {1.0f, 1.0f, 1.0f};

static const float HORIZON = 300.0f;           // beyond it there are only hills
static const float ROW = 0.17f, STEP = 0.055f; // stubble: distance of rows, and of stalks in a row
static const float STUBBLE = 0.13f;            // the tallest stalk
static const float STUBBLE_FAR = 17.0f;        // further away the ground's texture stands for it

enum { CELLS_MAX = 40, RAYS_MAX = 12, SCATTERED_MAX = 3 };

// ---- light from the sky ----

static vec3 haze(vec3 d) { // the air's own colour, without clouds, hills and sun
    float h = clamp(d.y + 0.3f * min(d.z, 0.0f), 0.0f, 1.0f), s = clamp(dot(d, SUN), 0.0f, 1.0f);
    vec3 low = mix(v(0.78f, 0.32f, 0.20f), v(0.36f, 0.26f, 0.42f), smoothstep(0.0f, 0.18f, h));
    vec3 color = scale(mix(low, v(0.05f, 0.12f, 0.36f), smoothstep(0.05f, 0.42f, h)), 0.64f + 0.10f * s);
    float s4 = s * s * s * s, s16 = s4 * s4 * s4 * s4, s64 = s16 * s16 * s16 * s16;
    vec3 glow = add(scale(v(1.0f, 0.38f, 0.10f), 0.12f * s4), scale(v(1.0f, 0.40f, 0.08f), 0.40f * s16));
    return add(color, add(glow, scale(v(1.0f, 0.52f, 0.16f), 0.80f * s64)));
}

static vec3 clouds(vec3 d, vec3 behind) {
    float x = 1.4f * d.x / (d.y + 0.12f) + 104.0f, y = 2.2f / (d.y + 0.12f) + 56.0f;
    float n = 0.5f * noise(x, y) + 0.25f * noise(2.1f * x, 2.3f * y) + 0.125f * noise(4.3f * x, 4.9f * y) +
              0.0625f * noise(9.1f * x, 10.3f * y);
    float cover = smoothstep(0.44f, 0.74f, n) * smoothstep(0.03f, 0.14f, d.y) * 0.85f;
    float s = clamp(dot(d, SUN), 0.0f, 1.0f), s4 = s * s * s * s;
    return mix(behind, add(v(0.42f, 0.22f, 0.26f), scale(v(1.6f, 0.66f, 0.24f), s4 * s4 + 0.10f)), cover);
}

static vec3 hills(vec3 d, vec3 behind) {
    float a = d.x / d.z;
    float far = 0.030f + 0.034f * noise(3.1f * a + 5.0f, 22.5f) + 0.010f * noise(11.0f * a, 3.5f);
    float near = 0.004f + 0.026f * noise(4.3f * a + 1.7f, 31.5f) + 0.007f * noise(60.0f * a, 1.5f);
    vec3 air = haze(v(d.x, 0.0f, d.z));
    if (d.y < near) return add(scale(air, 0.38f), v(0.01f, 0.012f, 0.01f));
    if (d.y < far) return add(scale(air, 0.66f), v(0.0f, 0.005f, 0.03f));
    return behind;
}

static vec3 sky(vec3 d) { // what an eye sees there
    vec3 color = dot(d, SUN) > 0.99984f ? v(60.0f, 38.0f, 18.0f) : clouds(d, haze(d));
    return d.z > 0.0f && d.y < 0.08f ? hills(d, color) : color;
}

// ---- intersections: each improves the hit if it is nearer ----

typedef struct { vec3 o, d; } Ray;
typedef struct { float t; vec3 normal; Thing thing; uint32_t mark; } Hit;

static vec3 at(const Ray *ray, float t) { return add(ray->o, scale(ray->d, t)); }

static void meet_sphere(const Ray *ray, const Sphere *sphere, uint32_t mark, Hit *hit) {
    vec3 to = sub(sphere->center, ray->o);
    float b = dot(to, ray->d), root = b * b - dot(to, to) + sphere->radius * sphere->radius;
    if (root < 0.0f) return;
    float t = b - sqrtf(root);
    if (t < 1e-3f || t >= hit->t) return;
    *hit = (Hit){t, scale(sub(scale(ray->d, t), to), 1.0f / sphere->radius), sphere->thing, mark};
}

static vec3 turned(vec3 p, float cos, float sin) { return v(p.x * cos + p.z * sin, p.y, p.z * cos - p.x * sin); }

static void meet_bale(const Ray *ray, const Bale *bale, uint32_t mark, Hit *hit) {
    vec3 q = turned(sub(ray->o, bale->center), bale->cos, bale->sin), e = turned(ray->d, bale->cos, bale->sin);
    float a = e.y * e.y + e.z * e.z, b = q.y * e.y + q.z * e.z;
    float root = b * b - a * (q.y * q.y + q.z * q.z - bale->radius * bale->radius);
    if (root < 0.0f) return;
    float side = (-b - sqrtf(root)) / a, leave = (-b + sqrtf(root)) / a;
    float facing = e.x > 0.0f ? -1.0f : 1.0f, cap = (facing * bale->half - q.x) / e.x, t = max(side, cap);
    if (t < 1e-3f || t >= hit->t || t > leave || fabsf(q.x + t * e.x) > bale->half + 1e-4f) return;
    vec3 n = v(facing, 0.0f, 0.0f);
    if (cap <= side) n = v(0.0f, (q.y + t * e.y) / bale->radius, (q.z + t * e.z) / bale->radius);
    *hit = (Hit){t, turned(n, bale->cos, -bale->sin), BALE, mark};
}

static void meet_bales(const Ray *ray, Hit *hit) {
    float up = 1.0f / (fabsf(ray->d.y) < 1e-6f ? 1e-6f : ray->d.y);
    float ahead = 1.0f / (fabsf(ray->d.z) < 1e-6f ? 1e-6f : ray->d.z);
    float bottom = -ray->o.y * up, top = (BALES_HIGH - ray->o.y) * up;
    float near = (BALES_NEAR - ray->o.z) * ahead, far = (BALES_FAR - ray->o.z) * ahead;
    float end = min(max(bottom, top), max(near, far));
    if (end < 0.0f || end < max(min(bottom, top), min(near, far))) return;
    for (int i = 0; i < COUNT(BALES); i++) meet_bale(ray, &BALES[i], (uint32_t)i, hit);
}

static void meet_capsule(const Ray *ray, vec3 a, vec3 b, float radius, uint32_t mark, Hit *hit) {
    vec3 ba = sub(b, a), oa = sub(ray->o, a);
    float baba = dot(ba, ba), bad = dot(ba, ray->d), baoa = dot(ba, oa), doa = dot(ray->d, oa);
    float k = baba - bad * bad, l = baba * doa - baoa * bad;
    float square = l * l - k * (baba * (dot(oa, oa) - radius * radius) - baoa * baoa);
    if (square < 0.0f) return;
    float t = (-l - sqrtf(square)) / k, y = baoa + t * bad;
    if (y <= 0.0f || y >= baba) { // past an end: a ball is there
        vec3 oc = y <= 0.0f ? oa : sub(ray->o, b);
        float m = dot(ray->d, oc), root = m * m - dot(oc, oc) + radius * radius;
        if (root < 0.0f) return;
        t = -m - sqrtf(root);
        y = y <= 0.0f ? 0.0f : baba;
    }
    if (t < 1e-4f || t >= hit->t) return;
    *hit = (Hit){t, normalize(sub(add(oa, scale(ray->d, t)), scale(ba, y / baba))), STALK, mark};
}

static void meet_stem(const Ray *ray, const Wheat *wheat, vec3 neck, uint32_t mark, Hit *hit) {
    vec3 root = v(wheat->x, 0.0f, wheat->z), knee = v(wheat->x + 0.03f, wheat->tall, wheat->z), from = root;
    vec3 to = v(wheat->x - 0.4f * wheat->lean - ray->o.x, 0.0f, wheat->z - 0.025f - ray->o.z);
    float miss = to.x * ray->d.z - to.z * ray->d.x, wide = 0.6f * wheat->lean + 0.05f;
    if (miss * miss > wide * wide * (ray->d.x * ray->d.x + ray->d.z * ray->d.z)) return;
    for (int i = 1; i <= 6; i++) { // along a curve from root to neck
        float t = (float)i / 6.0f, u = 1.0f - t;
        vec3 p = add(scale(root, u * u), add(scale(knee, 2.0f * u * t), scale(neck, t * t)));
        meet_capsule(ray, from, p, 0.0055f - 0.0025f * t, mark, hit);
        from = p;
    }
}

static void meet_ear(const Ray *ray, const Wheat *wheat, vec3 neck, uint32_t mark, Hit *hit) {
    vec3 along = normalize(v(-1.0f, wheat->bow, -0.25f)), to = sub(add(neck, scale(along, 0.15f)), ray->o);
    float ahead = dot(to, ray->d);
    if (dot(to, to) - ahead * ahead > 0.0324f) return;
    vec3 side = normalize(cross(along, v(0.25f, 0.0f, -1.0f))), depth = cross(along, side);
    for (int i = 0; i < 18; i++) { // kernels to both sides, each with its awn
        float t = (float)(i / 2);
        vec3 out = add(scale(side, i % 2 == 0 ? 0.8f : -0.8f), scale(depth, (i / 2) % 2 == 0 ? 0.5f : -0.5f));
        vec3 base = add(neck, add(scale(along, 0.021f * t), v(0.0f, -0.0009f * t * t, 0.0f)));
        vec3 tip = add(base, add(scale(along, 0.024f), scale(out, 0.016f)));
        meet_capsule(ray, add(base, scale(out, 0.007f)), tip, 0.0085f, mark + (uint32_t)i, hit);
        meet_capsule(ray, tip, add(tip, add(scale(along, 0.11f), scale(out, 0.035f))), 0.0012f, mark, hit);
    }
}

// Ears that were left standing. They are too thin for the rounding of a long way, so they are met from close by.
static void meet_wheat(const Ray *ray, Hit *hit) {
    vec3 to = sub(WHEAT_CENTER, ray->o);
    float middle = dot(to, ray->d);
    if (dot(to, to) - middle * middle > WHEAT_RADIUS * WHEAT_RADIUS || middle < -WHEAT_RADIUS) return;
    float start = max(middle - WHEAT_RADIUS, 0.0f);
    Ray close = {at(ray, start), ray->d};
    Hit near = {hit->t - start, hit->normal, SKY, 0};
    for (int i = 0; i < COUNT(WHEAT); i++) {
        vec3 neck = v(WHEAT[i].x - WHEAT[i].lean, WHEAT[i].tall + 0.02f, WHEAT[i].z - 0.05f);
        meet_stem(&close, &WHEAT[i], neck, (uint32_t)i, &near);
        meet_ear(&close, &WHEAT[i], neck, (uint32_t)i * 20u, &near);
    }
    if (near.thing == STALK) *hit = (Hit){start + near.t, near.normal, STALK, near.mark};
}

static void meet_stalk(const Ray *ray, float low, int32_t i, int32_t j, Hit *hit) {
    vec3 o = ray->o, d = ray->d;
    uint32_t h = hash2(i, j);
    float tall = STUBBLE * (0.45f + 0.55f * unit(h)) * clamp((STUBBLE_FAR - (float)j * STEP) * 0.11f, 0.0f, 1.0f);
    if (low > tall) return;
    vec3 p = v(o.x - ((float)i + 0.35f + 0.3f * unit(h * 0x85ebca6bu)) * ROW, o.y,
               o.z - ((float)j + 0.3f + 0.4f * unit(h * 0x9e3779b1u)) * STEP);
    float miss = p.x * d.z - p.z * d.x; // how far it passes from the root, seen from above
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

// Walks the cells of the stubble, a stalk in each, that the ray crosses below the tallest stalk. Like wheat, stalks
// are met from close by.
static void meet_stubble(const Ray *ray, float start, float end, Hit *hit) {
    Ray close = {at(ray, start), ray->d};
    vec3 o = close.o, d = close.d;
    Hit near = {end - start, hit->normal, SKY, 0};
    float x = o.x / ROW, z = o.z / STEP, i = floorf(x), j = floorf(z);
    float step_i = d.x < 0.0f ? -1.0f : 1.0f, step_j = d.z < 0.0f ? -1.0f : 1.0f;
    float every_x = ROW / max(fabsf(d.x), 1e-6f), every_z = STEP / max(fabsf(d.z), 1e-6f);
    float next_x = every_x * (d.x < 0.0f ? x - i : 1.0f - (x - i));
    float next_z = every_z * (d.z < 0.0f ? z - j : 1.0f - (z - j)), enter = 0.0f;
    for (int cell = 0; cell < CELLS_MAX; cell++) {
        float leave = min(next_x, next_z);
        meet_stalk(&close, o.y + d.y * (d.y < 0.0f ? leave : enter), (int32_t)i, (int32_t)j, &near);
        if (near.t <= leave) break;
        enter = leave;
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

static void meet_field(const Ray *ray, Hit *hit) {
    float up = 1.0f / (fabsf(ray->d.y) < 1e-6f ? 1e-6f : ray->d.y);
    float ground = -ray->o.y * up, top = (STUBBLE - ray->o.y) * up;
    if (ground > 1e-4f && ground < hit->t && ground < HORIZON) *hit = (Hit){ground, {0.0f, 1.0f, 0.0f}, GROUND, 0};
    float start = max(min(ground, top), 0.0f), end = min(max(ground, top), hit->t), z = ray->o.z + ray->d.z * start;
    if (start >= end || z > STUBBLE_FAR || z < -1.0f) return;
    for (int i = 0; i < COUNT(GRAINS); i++) meet_sphere(ray, &GRAINS[i], (uint32_t)i, hit);
    meet_stubble(ray, start, min(end, hit->t), hit);
}

static Hit trace(const Ray *ray) {
    Hit hit = {1e9f, {0.0f, 1.0f, 0.0f}, SKY, 0};
    for (int i = 0; i < COUNT(BALLS); i++) meet_sphere(ray, &BALLS[i], (uint32_t)i, &hit);
    meet_bales(ray, &hit);
    meet_wheat(ray, &hit);
    meet_field(ray, &hit);
    return hit;
}

// ---- what things are made of ----

typedef struct { vec3 color, normal; } Matter; // the share of light it gives back; the normal as light sees it

static Matter ground(vec3 p) {
    float a = noise(38.0f * p.x, 21.0f * p.z) - 0.5f, b = noise(27.0f * p.x, 41.0f * p.z) - 0.5f;
    float rows = 0.5f - 0.5f * cosf(6.2831853f * p.x / ROW), patches = noise(0.45f * p.x, 0.16f * p.z) - 0.5f;
    float chaff = 0.6f * noise(90.0f * p.x, 23.0f * p.z) + 0.4f * noise(31.0f * p.x, 97.0f * p.z);
    vec3 soil = scale(v(0.20f, 0.12f, 0.065f), 0.6f + 0.8f * chaff), straw = scale(STRAW, 0.6f + 0.6f * chaff);
    vec3 close = mix(soil, straw, 0.75f * smoothstep(0.42f, 0.72f, chaff + 0.12f * rows + 0.22f * patches));
    float wide = noise(2.0f * p.x, 0.5f * p.z) - 0.5f;
    vec3 far = scale(STRAW, 0.50f + 0.22f * rows + 0.3f * patches + 0.2f * wide);
    return (Matter){mix(close, far, smoothstep(6.0f, STUBBLE_FAR, p.z)), normalize(v(0.7f * a, 1.0f, 0.7f * b))};
}

static Matter straw(vec3 p, const Bale *bale, vec3 normal) {
    vec3 l = turned(sub(p, bale->center), bale->cos, bale->sin);
    float r = sqrtf(l.y * l.y + l.z * l.z), angle = atan2f(l.y, l.z);
    float fuzz = noise(l.y * 70.0f + l.x * 31.0f, l.z * 60.0f) - 0.5f, fine, dark = 1.0f;
    if (fabsf(l.x) > bale->half - 0.01f) { // rolled up
        fine = noise(r * 38.0f + angle * 0.9549f, angle * 3.0f);
        dark = 0.85f + 0.15f * sinf(r * 46.0f + angle);
    } else {
        fine = noise(l.x * 42.0f, angle * 9.0f);
    }
    vec3 bent = add(normal, v((fine - 0.5f) * 0.5f, fuzz * 0.6f, (fine - 0.5f) * -0.4f));
    return (Matter){scale(STRAW, (0.65f + 0.6f * fine) * dark), normalize(bent)};
}

static Matter matter(vec3 p, const Hit *hit) {
    switch (hit->thing) {
    case GROUND: return ground(p);
    case STALK: return (Matter){scale(STRAW, 0.7f + 0.5f * unit(hit->mark * 0x9e3779b1u)), hit->normal};
    case BALE: return straw(p, &BALES[hit->mark], hit->normal);
    case GRAIN: return (Matter){v(1.0f, 0.62f, 0.16f), hit->normal};
    case GOLD: return (Matter){v(1.0f, 0.66f, 0.22f), hit->normal};
    case COPPER: return (Matter){v(0.96f, 0.60f, 0.45f), hit->normal};
    case GLASS:
    case SKY: break;
    }
    return (Matter){WHITE, hit->normal};
}

static Matter plain_matter(const Hit *hit) { // without its pattern: enough for light that was scattered before
    vec3 color = hit->thing == GROUND ? v(0.34f, 0.22f, 0.10f) : v(0.62f, 0.43f, 0.19f);
    return (Matter){hit->thing >= GRAIN ? v(1.0f, 0.66f, 0.22f) : color, hit->normal};
}

// ---- paths ----

static vec3 around(vec3 axis, float x, float y, float z) { // (x, y, z) with z turned to the axis
    float sign = axis.z < 0.0f ? -1.0f : 1.0f, a = -1.0f / (sign + axis.z), b = axis.x * axis.y * a;
    vec3 s = v(1.0f + sign * axis.x * axis.x * a, sign * b, -sign * axis.x);
    vec3 t = v(b, sign + axis.y * axis.y * a, -axis.y);
    return add(add(scale(s, x), scale(t, y)), scale(axis, z));
}

static vec3 around_disc(vec3 axis, float spread, Chance *chance) { // a direction within `spread` of the axis
    float r = sqrtf(next(chance)) * spread, a = 6.2831853f * next(chance);
    return normalize(around(axis, r * cosf(a), r * sinf(a), 1.0f));
}

static vec3 around_cosine(vec3 normal, Chance *chance) { // as a dull surface scatters
    float u = next(chance), r = sqrtf(u), a = 6.2831853f * next(chance);
    return around(normal, r * cosf(a), r * sinf(a), sqrtf(max(1.0f - u, 0.0f)));
}

static vec3 outward(vec3 d, vec3 normal) { return dot(d, normal) <= 0.0f ? reflect(d, normal) : d; }

typedef struct {
    Ray ray;
    Ray later;         // where the path goes on after a ray to the sun
    vec3 light, share; // what was found so far; the share of what comes that reaches the eye
    vec3 sun;          // what the ray to the sun brings if nothing is in its way
    bool to_sun;
    int scattered;
} Path;

// Through a ball of glass: in, across and out again, or off its surface.
static void pass_glass(Path *path, const Hit *hit, Chance *chance) {
    const Sphere *ball = &BALLS[hit->mark];
    vec3 d = path->ray.d, n = hit->normal, p = at(&path->ray, hit->t);
    float c = -dot(d, n), m = 1.0f - c;
    if (next(chance) < 0.04f + 0.96f * m * m * m * m * m) {
        path->ray = (Ray){p, reflect(d, n)};
        return;
    }
    float k = sqrtf(1.0f - (1.0f - c * c) / 2.25f);
    vec3 inside = add(scale(d, 1.0f / 1.5f), scale(n, c / 1.5f - k));
    vec3 q = add(p, scale(inside, 2.0f * k * ball->radius));
    vec3 back = scale(sub(ball->center, q), 1.0f / ball->radius); // it leaves at the angle at which it came
    path->ray = (Ray){q, normalize(add(scale(inside, 1.5f), scale(back, 1.5f * k - c)))};
}

static void reach_for_sun(Path *path, const Hit *hit) {
    if (hit->thing == GLASS) { // it gathers light in the middle of its shadow
        float c = -dot(hit->normal, path->ray.d), c4 = c * c * c * c;
        path->sun = scale(path->sun, 0.12f + 2.2f * c4 * c4 * c4);
        path->ray.o = at(&path->ray, hit->t + 2.0f * c * BALLS[hit->mark].radius + 1e-3f);
        return;
    }
    if (hit->thing == SKY) path->light = add(path->light, path->sun);
    path->ray = path->later;
    path->to_sun = false;
}

static void glance_off(Path *path, const Hit *hit, vec3 color, Chance *chance) {
    float m = 1.0f + dot(path->ray.d, hit->normal);
    float spread = hit->thing == GOLD ? 0.06f : hit->thing == COPPER ? 0.22f : 0.3f;
    path->share = mul(path->share, mix(color, WHITE, m * m * m * m * m));
    vec3 d = around_disc(reflect(path->ray.d, hit->normal), spread, chance);
    path->ray = (Ray){add(at(&path->ray, hit->t), scale(hit->normal, 1e-4f)), outward(d, hit->normal)};
}

static void scatter(Path *path, const Hit *hit, const Matter *it, Chance *chance) {
    path->share = mul(path->share, it->color);
    path->scattered++;
    if (path->scattered == SCATTERED_MAX) { // nothing more is followed: about this much would come
        path->light = add(path->light, scale(path->share, 0.1f));
    }
    vec3 p = at(&path->ray, hit->t), d = around_disc(SUN, SUN_RADIUS, chance);
    float facing = dot(d, it->normal);
    float share = facing > 0.0f ? facing : hit->thing == STALK ? -0.5f * facing : 0.0f; // straw lets some light through
    path->later.o = add(p, scale(hit->normal, 1e-4f));
    path->later.d = outward(around_cosine(it->normal, chance), hit->normal);
    path->sun = mul(path->share, scale(SUN_LIGHT, share * 0.3183f));
    path->to_sun = share > 0.0f;
    path->ray = path->later;
    if (path->to_sun) path->ray = (Ray){add(p, scale(hit->normal, facing > 0.0f ? 1e-4f : -0.017f)), d};
}

// Follows one path from the eye. Where it meets something dull, a ray to the sun comes in between.
static vec3 follow(Ray eye, Chance *chance) {
    Path path = {eye, eye, {0.0f, 0.0f, 0.0f}, WHITE, {0.0f, 0.0f, 0.0f}, false, 0};
    for (int i = 0; i < RAYS_MAX && (path.scattered < SCATTERED_MAX || path.to_sun); i++) {
        Hit hit = trace(&path.ray);
        vec3 d = path.ray.d;
        if (path.to_sun) {
            reach_for_sun(&path, &hit);
            continue;
        }
        if (hit.thing == SKY) return add(path.light, mul(path.share, path.scattered > 0 ? haze(d) : sky(d)));
        if (path.scattered == 0) { // the evening's air
            float clear = expf(-0.0065f * hit.t);
            vec3 air = haze(normalize(v(d.x, max(d.y, 0.0f), d.z)));
            path.light = add(path.light, mul(path.share, scale(air, 1.0f - clear)));
            path.share = scale(path.share, clear);
        }
        if (hit.thing == GLASS) {
            pass_glass(&path, &hit, chance);
            continue;
        }
        Matter it = path.scattered > 0 ? plain_matter(&hit) : matter(at(&path.ray, hit.t), &hit);
        if (hit.thing >= GRAIN) glance_off(&path, &hit, it.color, chance);
        else scatter(&path, &hit, &it, chance);
    }
    return path.light;
}

static vec3 camera(uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint32_t sample) {
    Chance chance = {hash(y * width + x), sample, 0};
    float u = ((float)x + next(&chance) - 0.5f * (float)width) / (float)height;
    float w = (0.5f * (float)height - (float)y - next(&chance)) / (float)height;
    vec3 forward = normalize(v(0.02f, -0.075f, 1.0f));
    vec3 right = normalize(cross(v(0.0f, 1.0f, 0.0f), forward)), up = cross(forward, right);
    float r = 0.011f * sqrtf(next(&chance)), a = 6.2831853f * next(&chance), focus = 3.75f;
    vec3 lens = add(scale(right, r * cosf(a)), scale(up, r * sinf(a)));
    vec3 d = add(forward, add(scale(right, 0.62f * u), scale(up, 0.62f * w)));
    Ray ray = {add(v(0.0f, 0.92f, 0.0f), lens), normalize(sub(scale(d, focus), lens))};
    vec3 light = follow(ray, &chance);
    return v(min(light.x, 6.0f), min(light.y, 6.0f), min(light.z, 6.0f)); // no fireflies
}

static uint8_t develop(float light) { // Narkowicz's fit of the ACES film curve, then sRGB
    float x = light * 0.95f, film = clamp(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0.0f, 1.0f);
    float srgb = film < 0.0031308f ? 12.92f * film : 1.055f * powf(film, 1.0f / 2.4f) - 0.055f;
    return (uint8_t)(srgb * 255.0f + 0.5f);
}

int main(int count, char **arguments) {
    uint32_t number[7];
    if (count != COUNT(number) + 1) {
        fputs("usage: path X Y WIDTH HEIGHT PICTURE_WIDTH PICTURE_HEIGHT SAMPLES\n", stderr);
        return 2;
    }
    for (int i = 0; i < COUNT(number); i++) number[i] = (uint32_t)strtoul(arguments[i + 1], NULL, 10);
    uint32_t left = number[0], top = number[1], right = left + number[2], bottom = top + number[3], samples = number[6];
    for (uint32_t y = top; y < bottom; y++) {
        for (uint32_t x = left; x < right; x++) {
            vec3 sum = {0.0f, 0.0f, 0.0f};
            for (uint32_t i = 0; i < samples; i++) sum = add(sum, camera(x, y, number[4], number[5], i));
            sum = scale(sum, 1.0f / (float)samples);
            uint8_t pixel[4] = {develop(sum.x), develop(sum.y), develop(sum.z), 255};
            fwrite(pixel, sizeof pixel, 1, stdout);
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
