/**
 * Every setting with default, limits and description: the schema of the file, the environment, the flags, `config/default.json` and
 * `docs/reference/settings.md`. Names are `section.key`; a section is one word, so that `REVEILLE_SECTION_KEY` is unambiguous.
 * Source: running.md, Settings; limits: decisions.md and sleep-wire.md.
 */
import { z } from 'zod';
import { clusterSection } from './cluster-section.ts';
import { edgeSection, edgesSection } from './edge-sections.ts';
import { limitsSection } from './limits-section.ts';
import { apiSection, opsSection } from './listener-sections.ts';
import { mediaSection } from './media-section.ts';
import { signalSection } from '../../gateways/signal/settings.ts';
import { sleepSection } from '../../edge/settings.ts';
import {
  burst,
  numberBetween,
  onOff,
  oneOf,
  optionalText,
  rate,
  refuse,
  text,
  wholeNumber,
  section,
  setting,
} from '../../model/settings-values.ts';

const dataDirectory = section({
  dir: setting(
    text('the path of a directory'),
    '.reveille',
    'The store, the tokens of operators, the audit log, and uploads on their way.',
  ),
});

const registry = section({
  file: setting(
    optionalText('the path of a JSON file'),
    null,
    'Registry file, imported at start and on SIGHUP.',
  ),
  allow_short_secrets: setting(
    onOff,
    false,
    'An entry may have a secret of fewer than 16 characters; for tests.',
  ),
});

const auth = section({
  verification: setting(
    oneOf('pool', 'inline'),
    'pool',
    'Signatures are verified on worker threads, or on the main loop.',
  ),
  threads: setting(
    wholeNumber(0, 64),
    0,
    'Threads of the pool; 0: one less than there are processors, 1 to 4.',
  ),
  clock_window_s: setting(
    wholeNumber(1, 3600),
    300,
    'Maximum difference between X-Tg-Date and the clock of the server.',
  ),
  explain_mismatch: setting(
    onOff,
    true,
    'Answers to a wrong signature of a known credential show the values that the server computed.',
  ),
});

const wakeup = section({
  device_per_second: setting(rate, 1, 'Wakeups per second of one device.'),
  device_burst: setting(
    burst.nullable(),
    null,
    'Burst of wakeups of one device; nothing: 3 seconds of its rate.',
  ),
  application_per_second: setting(rate, 200, 'Wakeups per second of one application.'),
  application_burst: setting(
    burst.nullable(),
    null,
    'Burst of wakeups of one application; nothing: 2 seconds of its rate.',
  ),
  in_flight_max: setting(
    wholeNumber(1, 1_000_000),
    2000,
    'Maximum wakeups of this node with a pending write.',
  ),
  replay_max: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Maximum wakeup signatures in memory, each kept while its date is within the window; when full, wakeups are answered 42901.',
  ),
  known_max: setting(
    wholeNumber(1, 1_000_000_000),
    20_000_000,
    'Maximum wakeups and request ids of repeats whose outcome the store keeps for 24 hours; when full, wakeups are answered 42901.',
  ),
});

const events = section({
  retention_days: setting(numberBetween(0.01, 3650), 7, 'Age at which an event expires from the log, days.'),
  retained_max: setting(
    wholeNumber(1000, 1_000_000_000),
    10_000_000,
    'Maximum events in the log; the oldest expire first.',
  ),
});

const calls = section({
  assign: setting(
    oneOf('issuance', 'device'),
    'issuance',
    'When a call is offered to an idle bridge: when its credentials are issued, or when its device connects.',
  ),
  require_bridge: setting(
    onOff,
    false,
    'Issuance is answered 50301 while the application has no idle bridge; false: the call waits for one.',
  ),
  wake_device: setting(
    onOff,
    true,
    'A bridge that connects to a call wakes its device if it sleeps, once per call.',
  ),
  mixed_formats: setting(
    oneOf('allow', 'refuse'),
    'allow',
    'Calls with different up_video_mt and down_video_mt; refuse: answered 40003.',
  ),
  address_in_peer_id: setting(
    onOff,
    false,
    'The peer_id of call credentials includes the media listener as x_media.',
  ),
  token_keys_file: setting(
    optionalText('the path of a JSON file'),
    null,
    'File with the keys that sign call tokens, created on first use; nothing: token-keys.json in the data directory.',
  ),
});

const webhooks = section({
  allow_local: setting(
    onOff,
    false,
    "Webhooks may go to loopback, private and other special addresses, but never to a cloud's metadata service.",
  ),
});

const log = section({
  level: setting(
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'Minimum level of log lines; `ready` is always written.',
  ),
  format: setting(
    oneOf('auto', 'json', 'text'),
    'auto',
    'Format of log lines; auto: text on a terminal, otherwise JSON.',
  ),
  requests: setting(
    oneOf('off', 'refused', 'all'),
    'refused',
    'API requests that are logged; refused wakeups always are.',
  ),
});

export const settingsSchema = z
  .strictObject({
    api: apiSection,
    sleep: sleepSection,
    edges: edgesSection,
    edge: edgeSection,
    signal: signalSection,
    media: mediaSection,
    calls,
    ops: opsSection,
    data: dataDirectory,
    registry,
    auth,
    wakeup,
    limits: limitsSection,
    events,
    webhooks,
    cluster: clusterSection,
    log,
  })
  // Edges belong to one core, so a cluster has none. Only a core with local edges accepts edges elsewhere.
  .superRefine(({ sleep: { edges }, edges: { listen }, cluster }, context) => {
    const expected = (message: string): void => refuse(context, ['sleep', 'edges'], message);
    if (edges === 0 && listen !== null)
      expected('1 or more with edges.listen: a server without edges of its own accepts none from elsewhere');
    if (edges > 0 && cluster.nats_url !== null)
      expected('0 with cluster.nats_url: a node of a cluster holds its sleep connections itself');
  })
  .readonly();

/** Sections with a listener. */
export const listenerNames = ['api', 'sleep', 'signal', 'media', 'ops'] as const;
export type ListenerName = (typeof listenerNames)[number];

/** Deeply read-only, in the type and in memory. */
export type Settings = z.output<typeof settingsSchema>;

/** True: the server opens this listener; for media only with child processes. */
export function hasOwnListener({ media }: Settings, name: ListenerName): boolean {
  return name !== 'media' || media.process === 'child';
}
