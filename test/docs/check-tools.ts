/** Before the blocks of the pages are run: what they need besides Node is here. Says what to install. */
import { hasPrivateNetworks } from '../support/private-network.ts';
import { missingTool } from '../support/debian-tools.ts';

const tools = ['curl', 'gcc', 'make', 'nats-server', 'openssl', 'python3'] as const;
const missing = tools.map(missingTool).filter((what) => what !== null);
for (const what of missing) console.error(`test:docs: ${what}`);
if (missing.length > 0) process.exitCode = 1;
if (!hasPrivateNetworks)
  console.error(
    'test:docs: no private networks here (unshare, ip): ports 8080 to 8390, 4222 and 8070 must be free',
  );
