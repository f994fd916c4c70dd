/** Everything that can be tested is a step of `.ci/run`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFromRoot } from '../support/checkout.ts';

test('.ci/run runs every script of package.json that runs tests', () => {
  const { scripts } = JSON.parse(readFromRoot('package.json')) as {
    readonly scripts: Record<string, string>;
  };
  const ci = readFromRoot('.ci/run');
  const loop = /^for name in (.*); do\n {2}tests "test:\$name" /m.exec(ci)?.[1]?.split(' ') ?? [];
  const steps = [
    ...loop.map((name) => `test:${name}`),
    ...Array.from(ci.matchAll(/^tests (\S+)/gm), ([, name]) => name),
  ];
  const runners = Object.keys(scripts).filter((name) => /^test(?::|$)/.test(name));
  assert.ok(runners.length > 10, runners.join());
  assert.deepEqual(runners.toSorted(), steps.map(String).toSorted());
});
