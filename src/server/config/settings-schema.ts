/**
 * Every setting with its default, its bounds and its description: the one schema behind the file, the
 * environment, the flags, `config/default.json` and `docs/reference/settings.md`. Names are `section.key`; a section is one
 * word, so that `REVEILLE_SECTION_KEY` is never ambiguous. Source: running.md, Settings; the limits are those of
 * decisions.md and sleep-wire.md.
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
    'Difference allowed between X-Tg-Date and the time of the server.',
  ),
  explain_mismatch: setting(
    onOff,
    true,
    'The answer to a wrong signature of a known credential shows what the server computed.',
  ),
});

const wakeup = section({
  device_per_second: setting(rate, 1, 'Wakeups per second of one device.'),
  device_burst: setting(
    burst.nullable(),
    null,
    'Wakeups of one device at once after a quiet time; nothing: 3 seconds of its rate.',
  ),
  application_per_second: setting(rate, 200, 'Wakeups per second of one application.'),
  application_burst: setting(
    burst.nullable(),
    null,
    'Wakeups of one application at once after a quiet time; nothing: 2 seconds of its rate.',
  ),
  in_flight_max: setting(wholeNumber(1, 1_000_000), 2000, 'Wakeups of this node whose write is under way.'),
  replay_max: setting(
    wholeNumber(1, 10_000_000),
    1_000_000,
    'Signatures of wakeups remembered, in memory, while their date is within the window; full is 42901.',
  ),
  known_max: setting(
    wholeNumber(1, 1_000_000_000),
    20_000_000,
    'Wakeups and request ids of repeats whose outcome is remembered, in the store, for 24 hours; full is 42901.',
  ),
});

const events = section({
  retention_days: setting(numberBetween(0.01, 3650), 7, 'Age at which the event log forgets an event.'),
  retained_max: setting(
    wholeNumber(1000, 1_000_000_000),
    10_000_000,
    'Events the log keeps; the oldest are forgotten beyond it.',
  ),
});

const calls = section({
  assign: setting(
    oneOf('issuance', 'device'),
    'issuance',
    'An idle bridge is asked to take a call when its credentials are issued, or when its device connects.',
  ),
  require_bridge: setting(
    onOff,
    false,
    'Issuance is answered 50301 while no bridge of the application is idle; else the call waits for one.',
  ),
  wake_device: setting(
    onOff,
    true,
    'A bridge that connects to a call whose device sleeps wakes it, once a call.',
  ),
  mixed_formats: setting(
    oneOf('allow', 'refuse'),
    'allow',
    'A call with unlike up_video_mt and down_video_mt; refuse: it is answered 40003.',
  ),
  address_in_peer_id: setting(
    onOff,
    false,
    'The peer_id of call credentials names the media listener, too, as x_media.',
  ),
  token_keys_file: setting(
    optionalText('the path of a JSON file'),
    null,
    'Keys that sign the tokens of calls, made at first need; nothing: token-keys.json in the data directory.',
  ),
});

const webhooks = section({
  allow_local: setting(
    onOff,
    false,
    "Webhooks may go to loopback, private and other special addresses; never to a cloud's metadata.",
  ),
});

const log = section({
  level: setting(
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'Lines below this level are not written, except `ready`.',
  ),
  format: setting(
    oneOf('auto', 'json', 'text'),
    'auto',
    'JSON, or text for people; auto: text on a terminal, else JSON.',
  ),
  requests: setting(
    oneOf('off', 'refused', 'all'),
    'refused',
    'Requests of the API that leave a line; a refused wakeup always does.',
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
  // Edges serve one core; the nodes of a cluster are several. Only a core that has edges waits for more of them.
  .superRefine(({ sleep: { edges }, edges: { listen }, cluster }, context) => {
    const expected = (message: string): void => refuse(context, ['sleep', 'edges'], message);
    if (edges === 0 && listen !== null)
      expected('1 or more with edges.listen: a server without edges of its own accepts none from elsewhere');
    if (edges > 0 && cluster.nats_url !== null)
      expected('0 with cluster.nats_url: a node of a cluster holds its sleep connections itself');
  })
  .readonly();

/** Sections that have a listener. */
export const listenerNames = ['api', 'sleep', 'signal', 'media', 'ops'] as const;
export type ListenerName = (typeof listenerNames)[number];

/** Read-only all the way down, in the type and in memory. */
export type Settings = z.output<typeof settingsSchema>;

/** The server listens there itself: for media only where its media process is a child. */
export function hasOwnListener({ media }: Settings, name: ListenerName): boolean {
  return name !== 'media' || media.process === 'child';
}
