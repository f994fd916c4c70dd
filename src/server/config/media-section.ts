/**
 * The settings of the media processes and of their listeners. Source: running.md and calls-and-media.md; what they leave open is
 * chosen here.
 */
import type { z } from 'zod';
import { sourceSideMax } from '../../model/limits.ts';
import { framesPerSecondMax } from '../../model/media/rtc-limits.ts';
import {
  setting,
  section,
  listenAddress,
  optionalText,
  textList,
  wholeNumber,
  pairedTlsFiles,
  tlsSettings,
  onOff,
  bearerKeyList,
  iceServerList,
  numberBetween,
  oneOf,
  addressesOnly,
  optionalPortRange,
  optionalOrigins,
  parseOrigins,
  refuse,
} from '../../model/settings-values.ts';

const mediaSettings = section({
  listen: setting(listenAddress, '127.0.0.1:8083', 'Listening address for device and bridge legs of calls.'),
  advertise: setting(
    optionalOrigins('host:port or an origin such as wss://media.example:8083'),
    null,
    'Address by which devices and people reach the media listener; without a scheme, that of the listener; of several children one for each, comma separated; nothing: the address listened on.',
  ),
  bridge_keys: setting(bearerKeyList(), [], 'Development keys that make a bridge of any application.', true),
  legs_max: setting(
    wholeNumber(1, 1_000_000),
    4000,
    "Legs, idle bridges and viewers at once, two fifths of them of one application's devices or of one bridge at most; beyond it an idle bridge yields, or the answer is 503.",
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    1000,
    'Connections without a valid credential at once; beyond it the oldest of the address that has the most yields.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    250,
    'The same of one address (IPv6: one /64); beyond it the oldest yields once it has had 2 s; 0, as it must be behind a proxy: no such bound.',
  ),
  max_fps: setting(
    wholeNumber(1, framesPerSecondMax),
    15,
    "Frames per second, at most, of a phone's video and of pictures.",
  ),
  cors_origins: setting(
    textList('a list of origins such as https://app.example, or *'),
    ['*'],
    'Origins of the pages that may use the WebRTC resources; *: all.',
  ),
  ice_servers: setting(
    iceServerList(),
    [],
    'STUN and TURN servers for WebRTC clients: a URL each, for TURN with user name and password, such as turn:turn.example:3478 user password.',
    true,
  ),
  webrtc: setting(
    onOff,
    true,
    'Devices and people may connect by WebRTC; off without the package node-datachannel.',
  ),
  rtc_port: setting(
    wholeNumber(1, 65_535).nullable(),
    null,
    'UDP port of all WebRTC connections; nothing: the number of the port listened on.',
  ),
  rtc_port_range: setting(
    optionalPortRange,
    null,
    'UDP ports such as 40000-40999, one for each WebRTC connection, in place of one for all.',
  ),
  rtc_advertise: setting(
    addressesOnly,
    [],
    'IP addresses by which WebRTC clients reach the media process, if not its own.',
  ),
  rtc_peers_max: setting(wholeNumber(1, 100_000), 500, 'WebRTC connections at once; another is refused.'),
  process: setting(
    oneOf('child', 'elsewhere', 'none'),
    'child',
    'The media process: a child of the server, one elsewhere that connects to media.link_listen, or none.',
  ),
  processes: setting(
    wholeNumber(1, 16),
    1,
    'Media processes that share the calls: children, each listening one port above the last, or those that may connect to media.link_listen.',
  ),
  link_listen: setting(
    listenAddress.nullable(),
    null,
    'Listening address for media processes elsewhere; needs media.link_key_file.',
  ),
  link_server: setting(
    listenAddress.nullable(),
    null,
    'For serve --only media: the media.link_listen of its server.',
  ),
  link_key_file: setting(
    optionalText('the path of a file'),
    null,
    'Key of the link, at least 32 bytes, that a server and its media process elsewhere share.',
  ),
  workers: setting(
    wholeNumber(0, 256),
    0,
    'Threads of each media process; 0: one less than there are processors, divided among the children.',
  ),
  load_max: setting(
    numberBetween(0.05, 1),
    0.85,
    "Share of the workers' time that calls may take; a call beyond it is refused.",
  ),
  quality: setting(wholeNumber(1, 100), 80, 'JPEG quality, on the scale of libjpeg.'),
  frame_width_max: setting(
    wholeNumber(16, sourceSideMax),
    1920,
    'Pixels of the long side of a source frame; a larger one is dropped before it is decoded.',
  ),
  frame_height_max: setting(wholeNumber(16, sourceSideMax), 1080, 'The same of its short side.'),
  ...tlsSettings,
});

export const mediaSection = mediaSettings
  .superRefine(pairedTlsFiles)
  .superRefine(linkedElsewhere)
  .superRefine(portsForAll)
  .superRefine(originForEach);

type MediaSettings = z.output<typeof mediaSettings>;

/** Several children listen one above the other, each also for WebRTC where that has one port. */
function portsForAll(given: MediaSettings, context: z.core.$RefinementCtx): void {
  const { process, processes, listen, rtc_port: rtcPort } = given;
  if (process !== 'child') return;
  const lastPort = portMax + 1 - processes;
  const expected = `at most ${lastPort}, since media.processes is ${processes}: each listens one port above the last`;
  if (listen.port > lastPort) refuse(context, ['listen'], expected);
  if (rtcPort !== null && rtcPort > lastPort) refuse(context, ['rtc_port'], expected);
}

const portMax = 65_535;

/** A call is at one of the processes, so that an address has to name one. `link_server`: these are the settings of one of them. */
function originForEach(given: MediaSettings, context: z.core.$RefinementCtx): void {
  const { process, processes, advertise, link_server: server } = given;
  const origins = parseOrigins(advertise ?? '');
  if (origins === null || server !== null) return;
  const isOwnOfEach = process === 'elsewhere' && processes > 1;
  if (!isOwnOfEach && origins.length === processes) return;
  const expected = isOwnOfEach
    ? `nothing, since media.processes is ${processes}: each media process elsewhere has a media.advertise of its own`
    : `one origin for each media process, comma separated, and media.processes is ${processes}: each call is at one of them`;
  refuse(context, ['advertise'], expected);
}

/** A server that waits for its media process has a place and a key to wait with. */
function linkedElsewhere(given: MediaSettings, context: z.core.$RefinementCtx): void {
  const { process, link_listen: listen, link_key_file: keyFile } = given;
  if (process !== 'elsewhere') return;
  if (listen === null) refuse(context, ['link_listen'], 'an address, since media.process is elsewhere');
  if (keyFile === null) refuse(context, ['link_key_file'], 'a path, since media.process is elsewhere');
}
