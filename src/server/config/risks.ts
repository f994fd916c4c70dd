/** Risks in the settings that an operator should know before they matter. */
import type { Log } from '../../core/ports/log.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, isLoopback } from './settings-values.ts';

/** To listen on them is to listen on every address; none of them is one to connect to. */
const anyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Warns once, at the start. */
export function reportRisks(
  { api, sleep, signal, media, ops, registry, webhooks }: Settings,
  log: Log,
): void {
  if (!isLoopback(api.listen) && api.tls_cert_file === null)
    log.warn({ listener: 'api' }, 'signed calls come from beyond this machine without TLS');
  if (!isLoopback(signal.listen) && signal.tls_cert_file === null)
    log.warn({ listener: 'signal' }, 'controllers connect from beyond this machine without TLS');
  if (!isLoopback(media.listen) && media.tls_cert_file === null)
    log.warn({ listener: 'media' }, 'tokens and bridge keys come from beyond this machine without TLS');
  if (media.bridge_keys.length > 0)
    log.warn(
      { keys: media.bridge_keys.length },
      'development keys make a bridge of any application: media.bridge_keys',
    );
  if (anyAddress.has(sleep.listen.host) && sleep.advertise.length === 0)
    log.warn(
      { told: formatListenAddress(sleep.listen) },
      'controllers are told a sleep server that nobody can connect to: set sleep.advertise',
    );
  if (!isLoopback(ops.listen))
    log.warn({ listener: 'ops' }, 'probes and metrics are open to more than this machine');
  if (registry.allow_short_secrets)
    log.warn({}, 'secrets may be short enough to be guessed: registry.allow_short_secrets');
  if (webhooks.allow_local)
    log.warn({}, 'webhooks may go to loopback and private addresses: webhooks.allow_local');
}
