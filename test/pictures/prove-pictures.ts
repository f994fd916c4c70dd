/** Checks all requirements on our pictures of one source. Source: calls-and-media.md, Resolution. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from '../support/temporary-store.ts';
import type { FilmLibrary } from './films.ts';
import { decoderComplaints, structureComplaints } from './jpeg-complaints.ts';
import { judgePictures } from './judgement.ts';
import { ourPictures } from './our-pictures.ts';
import { decodeJpegs, referencePlanes, type Expectation } from './reference.ts';
import { makeSource, type Recipe } from './sources.ts';

/** Reports the measurements as diagnostics of the test. */
export async function provePictures(
  t: TestContext,
  kv: FilmLibrary,
  recipe: Recipe,
  expectations: readonly Expectation[],
): Promise<void> {
  const directory = temporaryDirectory(t);
  const source = await makeSource(directory, kv, recipe);
  const jpegs = await ourPictures(source, expectations);
  const reference = await referencePlanes(directory, source, expectations);
  for (const [index, { shape, output }] of expectations.entries()) {
    const ours = jpegs[index] ?? [];
    const name = `${shape.mode} ${output.width}x${output.height}`;
    assert.deepEqual([...new Set(ours.flatMap((jpeg) => structureComplaints(jpeg, output)))], [], name);
    const [complaints, planes] = await Promise.all([
      decoderComplaints(ours, output),
      decodeJpegs(ours, output),
    ]);
    assert.deepEqual(complaints, [], name);
    const judgement = judgePictures(planes, reference[index] ?? []);
    t.diagnostic(`${name}: ${judgement.measured}`);
    assert.deepEqual(judgement.complaints, [], name);
  }
}
