/** Before the tests of what is deployed: what reads units and alerts is here. Says what to install. */
import { missingTool } from '../support/debian-tools.ts';

const missing = (['systemd-analyze', 'promtool', 'nats-server'] as const)
  .map(missingTool)
  .filter((what) => what !== null);
for (const what of missing) console.error(`test:deploy: ${what}`);
if (missing.length > 0) process.exitCode = 1;
