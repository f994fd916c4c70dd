/**
 * Compares the geometry of the scaled modes with an independent reading of the same page, in exact fractions, and with the
 * page's guarantees for every picture.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Size } from '../../src/model/call.ts';
import { fillCrop, planPicture, type Crop } from '../../src/media/geometry/picture-plan.ts';

type Fit = (source: Size, screen: Size) => Size | null;
type Fill = typeof fillCrop;

const fitSize: Fit = (source, screen) => planPicture(source, { mode: 'fit_screen', screen })?.output ?? null;

interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

function fraction(over: number, under: number): Fraction {
  return { over: BigInt(over), under: BigInt(under) };
}

function isLess(one: Fraction, other: Fraction): boolean {
  return one.over * other.under < other.over * one.under;
}

function least(fractions: readonly Fraction[]): Fraction {
  return fractions.reduce((one, other) => (isLess(other, one) ? other : one));
}

function most(fractions: readonly Fraction[]): Fraction {
  return fractions.reduce((one, other) => (isLess(one, other) ? other : one));
}

function scales(source: Size, screen: Size): [Fraction, Fraction] {
  return [fraction(screen.width, source.width), fraction(screen.height, source.height)];
}

/** The page's rules, sentence by sentence. */
const pageFit: Fit = (source, screen) => {
  const scale = least([fraction(1, 1), ...scales(source, screen)]);
  const scaled = (side: number): number => {
    const whole = (BigInt(side) * scale.over) / scale.under;
    return Number((whole >> 1n) << 1n);
  };
  const size = { width: scaled(source.width), height: scaled(source.height) };
  return size.width < 1 || size.height < 1 ? null : size;
};

const pageFill: Fill = (source, screen) => {
  const scale = most(scales(source, screen));
  const side = (screenSide: number, sourceSide: number): number => {
    // The exact side times its denominator, so that it is a whole number.
    const exact = BigInt(screenSide) * scale.under;
    const distance = (candidate: number): bigint => {
      const apart = BigInt(candidate) * scale.over - exact;
      return apart < 0n ? -apart : apart;
    };
    const about = Number(exact / scale.over);
    const near = [-3, -2, -1, 0, 1, 2, 3].map((step) => about + step);
    const evens = near.filter(
      (candidate) => candidate % 2 === 0 && candidate >= 2 && candidate <= sourceSide,
    );
    return evens.reduce(
      (best, candidate) => (distance(candidate) < distance(best) ? candidate : best),
      evens[0] ?? sourceSide,
    );
  };
  const width = side(screen.width, source.width);
  const height = side(screen.height, source.height);
  const offset = (spare: number): number => 2 * Math.floor(Math.floor(spare / 2) / 2);
  return { x: offset(source.width - width), y: offset(source.height - height), width, height };
};

function sizes(sideMin: number, sideMax: number): fc.Arbitrary<Size> {
  const side = fc.integer({ min: sideMin, max: sideMax });
  return fc.record({ width: side, height: side });
}

/** Sizes with even sides. */
function evenSizes(sideMax: number): fc.Arbitrary<Size> {
  const side = fc.integer({ min: 1, max: sideMax / 2 }).map((half) => half * 2);
  return fc.record({ width: side, height: side });
}

const ranges = [
  { sideMax: 700, numRuns: 20_000 },
  { sideMax: 4096, numRuns: 10_000 },
  { sideMax: 24, numRuns: 10_000 },
];

/** Throws for a picture that violates the page's rules. */
function checkFit(fit: Fit, source: Size, screen: Size): void {
  const size = fit(source, screen);
  assert.deepEqual(size, pageFit(source, screen));
  if (size === null) return;
  assert.ok(size.width % 2 === 0 && size.height % 2 === 0, 'even');
  assert.ok(size.width <= source.width && size.height <= source.height, 'never made larger');
  assert.ok(size.width <= screen.width && size.height <= screen.height, 'within the screen');
  const isBound = size.width + 1 >= screen.width || size.height + 1 >= screen.height;
  const isWhole = size.width + 1 >= source.width && size.height + 1 >= source.height;
  assert.ok(isBound || isWhole, 'no smaller than it has to be');
  // Each side is less than two below the size that the other side requires, rounding included.
  assert.ok(size.width * source.height < (size.height + 2) * source.width, 'the aspect is kept');
  assert.ok(size.height * source.width < (size.width + 2) * source.height, 'the aspect is kept');
}

function checkFill(fill: Fill, source: Size, screen: Size): void {
  const crop = fill(source, screen);
  assert.deepEqual(crop, pageFill(source, screen));
  checkSide(crop.x, crop.width, source.width);
  checkSide(crop.y, crop.height, source.height);
  const isWhole = crop.width + 1 >= source.width || crop.height + 1 >= source.height;
  assert.ok(isWhole, 'cut on one side only');
  checkAspect(crop, source, screen);
}

function checkSide(offset: number, side: number, sourceSide: number): void {
  assert.ok(side % 2 === 0 ? side >= 2 : sourceSide === 1, 'even, or all there is');
  const behind = sourceSide - side - offset;
  assert.ok(offset >= 0 && behind >= 0, 'within the source');
  assert.ok(offset % 2 === 0 && behind - offset >= 0 && behind - offset <= 3, 'in the middle');
}

/** Each side is within one line of the exact one, except for pictures of one or two lines. */
function checkAspect(crop: Crop, source: Size, screen: Size): void {
  const keepsWidth = screen.width * source.height >= screen.height * source.width;
  const exact = keepsWidth
    ? (screen.height * source.width) / screen.width
    : (screen.width * source.height) / screen.height;
  const cut = keepsWidth ? crop.height : crop.width;
  assert.ok(cut <= 2 || Math.abs(cut - exact) <= 1 + 1e-6, 'the aspect is kept');
}

for (const { sideMax, numRuns } of ranges) {
  test(`sources and screens up to ${sideMax} fit as the page says`, () => {
    fc.assert(
      fc.property(sizes(1, sideMax), sizes(2, sideMax), (source, screen) =>
        checkFit(fitSize, source, screen),
      ),
      { numRuns },
    );
  });
  test(`sources up to ${sideMax} fill screens as the page says`, () => {
    fc.assert(
      fc.property(sizes(1, sideMax), evenSizes(sideMax), (source, screen) =>
        checkFill(fillCrop, source, screen),
      ),
      { numRuns },
    );
  });
}

test('a rotated source on a rotated screen yields the rotated picture', () => {
  const turned = ({ width, height }: Size): Size => ({ width: height, height: width });
  fc.assert(
    fc.property(sizes(1, 700), sizes(2, 700), (source, screen) => {
      const fit = fitSize(source, screen);
      assert.deepEqual(fitSize(turned(source), turned(screen)), fit && turned(fit));
      const { x, y, ...size } = fillCrop(source, screen);
      assert.deepEqual(fillCrop(turned(source), turned(screen)), { x: y, y: x, ...turned(size) });
    }),
    { numRuns: 5000 },
  );
});

const faultyFits: [fault: string, fit: Fit][] = [
  [
    'makes small sources larger',
    (source, screen) => fitSize({ width: source.width * 9, height: source.height * 9 }, screen),
  ],
  [
    'rounds to the nearest line',
    (source, screen) => {
      const scale = Math.min(1, screen.width / source.width, screen.height / source.height);
      return {
        width: 2 * Math.round((source.width * scale) / 2),
        height: 2 * Math.round((source.height * scale) / 2),
      };
    },
  ],
  [
    'multiplies by a scale that is rounded',
    (source, screen) => {
      const scale = Math.min(1, screen.width / source.width, screen.height / source.height);
      const [width, height] = [
        2 * Math.floor((source.width * scale) / 2),
        2 * Math.floor((source.height * scale) / 2),
      ];
      return width === 0 || height === 0 ? null : { width, height };
    },
  ],
];
for (const [fault, fit] of faultyFits)
  test(`a fit that ${fault} is found`, () => {
    const found = fc.check(
      fc.property(sizes(1, 700), sizes(2, 700), (source, screen) => checkFit(fit, source, screen)),
      { numRuns: 20_000 },
    );
    assert.equal(found.failed, true);
  });

const faultyFills: [fault: string, fill: Fill][] = [
  ['cuts at the upper left corner', (source, screen) => ({ ...fillCrop(source, screen), x: 0, y: 0 })],
  [
    'has odd offsets',
    (source, screen) => {
      const crop = fillCrop(source, screen);
      return { ...crop, x: (source.width - crop.width) >> 1, y: (source.height - crop.height) >> 1 };
    },
  ],
  [
    'shows all of the source',
    (source) => ({ x: 0, y: 0, width: source.width & ~1, height: source.height & ~1 }),
  ],
];
for (const [fault, fill] of faultyFills)
  test(`a fill that ${fault} is found`, () => {
    const found = fc.check(
      fc.property(sizes(1, 700), evenSizes(700), (source, screen) => checkFill(fill, source, screen)),
      { numRuns: 20_000 },
    );
    assert.equal(found.failed, true);
  });
