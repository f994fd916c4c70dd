import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolutionMode } from '../../../../src/model/call.ts';
import { planPicture } from '../../../../src/media/geometry/picture-plan.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

const plans: [source: string, mode: ResolutionMode, screen: string | null, plan: string][] = [
  ['240x320', 'fit_screen', '160x100', '240x320+0+0 to 74x100'],
  ['240x320', 'fill_screen', '160x100', '240x150+0+84 to 160x100'],
  ['240x320', 'auto', null, '240x320+0+0 to 240x320'],
  ['240x320', 'auto', '160x100', '240x320+0+0 to 240x320'],
  ['241x321', 'auto', null, '241x321+0+0 to 241x321'],
  ['241x321', 'fit_screen', '640x480', '241x321+0+0 to 240x320'],
  ['3x2', 'auto', null, '3x2+0+0 to 3x2'],
  ['1x1', 'auto', null, '1x1+0+0 to 1x1'],
  ['700x2', 'fit_screen', '160x100', 'none'],
  ['1x1', 'fill_screen', '160x100', '1x1+0+0 to 160x100'],
];
for (const [source, mode, screen, expected] of plans)
  test(`of ${source} ${mode} on ${screen ?? 'no screen'} makes ${expected}`, () => {
    const plan = planPicture(sizeOf(source), { mode, screen: screen === null ? null : sizeOf(screen) });
    const said =
      plan === null
        ? 'none'
        : `${plan.crop.width}x${plan.crop.height}+${plan.crop.x}+${plan.crop.y} to ${plan.output.width}x${plan.output.height}`;
    assert.equal(said, expected);
  });

test('a scaled picture without a screen is a mistake of the house', () => {
  for (const mode of ['fit_screen', 'fill_screen'] as const)
    assert.throws(() => planPicture({ width: 240, height: 320 }, { mode, screen: null }), /has a screen/);
});
