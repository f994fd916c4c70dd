/** What an operator should know of the settings before it matters. */
import type { Log } from '../ports/log.ts';
import type { Settings } from './settings-schema.ts';
import { isLoopback } from './settings-values.ts';

/** Said once, at the start. */
export function reportRisks({ signal, ops, webhooks }: Settings, log: Log): void {
  if (!isLoopback(signal.listen) && signal.tls_cert_file === null)
    log.warn({ listener: 'signal' }, 'controllers connect from beyond this machine without TLS');
  if (!isLoopback(ops.listen))
    log.warn({ listener: 'ops' }, 'probes and metrics are open to more than this machine');
  if (webhooks.allow_local)
    log.warn({}, 'webhooks may go to loopback and private addresses: webhooks.allow_local');
}
