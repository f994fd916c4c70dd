/** Checks that `.ci/run` covers every test: each belongs to a suite that runs. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { readFromRoot } from '../support/checkout.ts';
import { placesOf, suites } from '../suites.ts';

test('.ci/run runs the tests, and each suite that needs more than Node', () => {
  const { scripts } = JSON.parse(readFromRoot('package.json')) as {
    readonly scripts: Record<string, string>;
  };
  assert.deepEqual(
    Object.keys(scripts).filter((name) => /^test(?::|$)/.test(name)),
    ['test', 'test:with'],
  );
  const ci = readFromRoot('.ci/run');
  assert.match(ci, /^tests test \d+ bash -c "\$test_command"$/m);
  assert.match(
    ci,
    /^for name in \$\(npm run -s test:with -- --names\); do\n {2}tests "test:with \$name" \d+ npm run -s test:with -- "\$name"\ndone$/m,
  );
});

test('every place of a suite exists', () => {
  const places = Object.keys(suites).flatMap(placesOf);
  assert.ok(places.length > 10);
  assert.deepEqual(
    places.filter((place) => !existsSync(place)),
    [],
  );
});
