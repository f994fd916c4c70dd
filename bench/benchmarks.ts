/** Every benchmark, by the name on the command line. */
import { callsHeld } from './figures/calls-held.ts';
import { coreDeaths } from './figures/core-deaths.ts';
import { credentials } from './figures/credentials.ts';
import { edges } from './figures/edges.ts';
import { fronts } from './figures/fronts.ts';
import { growth } from './figures/growth.ts';
import { hostile } from './figures/hostile.ts';
import { logins } from './figures/logins.ts';
import { media } from './figures/media.ts';
import { memory } from './figures/memory.ts';
import { queries } from './figures/queries.ts';
import { registry } from './figures/registry.ts';
import { searches } from './figures/searches.ts';
import { signatures } from './figures/signatures.ts';
import { starts } from './figures/starts.ts';
import { storms } from './figures/storms.ts';
import { wakeups } from './figures/wakeups.ts';
import { webhooks } from './figures/webhooks.ts';
import type { Benchmark } from './harness/benchmark.ts';

export const benchmarks: Readonly<Record<string, Benchmark>> = {
  queries,
  signatures,
  credentials,
  logins,
  wakeups,
  memory,
  webhooks,
  media,
  'calls-held': callsHeld,
  starts,
  storms,
  registry,
  searches,
  hostile,
  edges,
  fronts,
  'core-deaths': coreDeaths,
  growth,
};
