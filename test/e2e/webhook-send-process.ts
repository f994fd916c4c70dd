/** One delivery attempt in a separate process, whose environment names its trusted authorities. Arguments: `URL SECRET`. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { HttpSender } from '../../src/webhooks/http/http-sender.ts';
import { SystemNames } from '../../src/webhooks/http/checked-connections.ts';
import { webhook } from '../support/webhook-scene.ts';

const [url = '', secret = ''] = process.argv.slice(2);
const sender = new HttpSender({
  clock: new SystemClock(),
  resolver: new SystemNames(),
  allowLocal: true,
  userAgent: 'Reveille/0.0.0',
  attemptMsMax: 15_000,
});
const answer = await sender.send(webhook({ url, secret }), { id: 'event-1', body: '{}' });
process.stdout.write(JSON.stringify(answer));
sender.close();
