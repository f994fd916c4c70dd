/** The page of the benchmarks against the stored results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePage, pagePath } from '../../bench/page.ts';
import { readFromRoot } from '../support/checkout.ts';

test(`${pagePath} is what the results of the benchmarks make`, async () => {
  assert.equal(readFromRoot(pagePath), await makePage(), 'run npm run bench -- --page');
});
