/** The API's test suites against a server with fronts: codes, order of checks, limits and bodies are the same. */
import { describe } from 'node:test';
import { everyServer } from '../support/test-server.ts';

everyServer.fronts = 2;

const suites: Readonly<Record<string, () => Promise<unknown>>> = {
  api: () => import('./api.test.ts'),
  'application limits': () => import('./application-limits.test.ts'),
  'bad input': () => import('./bad-input.test.ts'),
  batches: () => import('./connectivity-batch.test.ts'),
  'hostile headers': () => import('./hostile-headers.test.ts'),
  documented: () => import('./openapi.test.ts'),
  'lost rights': () => import('./lost-rights.test.ts'),
  provisioning: () => import('./provisioning.test.ts'),
  semantics: () => import('./http-semantics.test.ts'),
  'silent crowds': () => import('./silent-crowds.test.ts'),
  TLS: () => import('./api-tls.test.ts'),
};

for (const [name, load] of Object.entries(suites)) await describe(name, load as () => Promise<void>);
