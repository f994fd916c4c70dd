/** Pictures requested of sources of some sizes, with the part of the source that each shows: computed by hand. */
import type { Size } from '../../src/model/call.ts';
import type { Expectation } from './reference.ts';

function size(width: number, height: number): Size {
  return { width, height };
}

/** A picture of the whole source. */
function auto(width: number, height: number): Expectation {
  const whole = size(width, height);
  return { shape: { mode: 'auto', screen: null }, crop: { ...whole, x: 0, y: 0 }, output: whole };
}

function fit(source: Size, screen: Size, output: Size): Expectation {
  return { shape: { mode: 'fit_screen', screen }, crop: { ...source, x: 0, y: 0 }, output };
}

function fill(crop: Expectation['crop'], screen: Size): Expectation {
  return { shape: { mode: 'fill_screen', screen }, crop, output: screen };
}

const quarter = size(320, 240);
const small = size(160, 100);

/** Scales ½, and 1/4 with 80 rows left over. */
export const ofLandscape: readonly Expectation[] = [
  auto(640, 480),
  fit(size(640, 480), quarter, size(320, 240)),
  fill({ x: 0, y: 40, width: 640, height: 400 }, small),
];

/** The worked case: scale 5/16 makes 75 x 100, the sides even 74; scale 2/3 leaves 170 rows over, 85 made even 84. */
export const ofPortrait: readonly Expectation[] = [
  auto(240, 320),
  fit(size(240, 320), small, size(74, 100)),
  fill({ x: 0, y: 84, width: 240, height: 150 }, small),
];

/** 320/639 makes 239.87 rows; 160/639 leaves 639 x 399.375 of it. */
export const ofOdd: readonly Expectation[] = [
  auto(639, 479),
  fit(size(639, 479), quarter, size(320, 238)),
  fill({ x: 0, y: 38, width: 638, height: 400 }, small),
];

/** 320/638 makes 239.75 rows; 160/638 leaves 398.75 rows of it. */
export const ofPadded: readonly Expectation[] = [
  auto(638, 478),
  fit(size(638, 478), quarter, size(320, 238)),
  fill({ x: 0, y: 40, width: 638, height: 398 }, small),
];

/** Fit never makes larger; 320/176 shows 132 rows. */
export const ofSmall: readonly Expectation[] = [
  fit(size(176, 144), quarter, size(176, 144)),
  fill({ x: 0, y: 6, width: 176, height: 132 }, quarter),
];
