/** Before the tests of proxies: both are here, and nginx has its part for TCP. Says what to install. */
import { existsSync } from 'node:fs';
import { missingTool } from '../support/debian-tools.ts';

const missing = (['nginx', 'haproxy'] as const).map(missingTool).filter((what) => what !== null);
if (missing.length === 0 && !existsSync('/etc/nginx/modules-enabled/50-mod-stream.conf'))
  missing.push('no stream module of nginx on this machine: apt-get install libnginx-mod-stream');
for (const what of missing) console.error(`test:proxy: ${what}`);
if (missing.length > 0) process.exitCode = 1;
