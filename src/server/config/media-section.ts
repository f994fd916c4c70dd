/**
 * Settings of the media processes and their listeners. Source: running.md and calls-and-media.md; this file chooses the rest.
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
    'Address by which devices and people reach the media listener. Without a scheme, that of the listener applies. With several children: one for each, comma separated. Nothing: the listening address.',
  ),
  bridge_keys: setting(
    bearerKeyList(),
    [],
    'Keys for development: each makes a bridge of any application.',
    true,
  ),
  legs_max: setting(
    wholeNumber(1, 1_000_000),
    4000,
    'Maximum legs, idle bridges and viewers; at most two fifths of them for devices of one application or for one bridge. When full, an idle bridge is closed, or the answer is 503.',
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    1000,
    'Maximum connections without a valid credential. When full, the oldest of the busiest address is closed.',
  ),
  handshakes_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    250,
    'Maximum connections of one address (IPv6: one /64) without a valid credential. When exceeded, the oldest is closed once it has had 2 s. 0: no limit; required behind a proxy.',
  ),
  max_fps: setting(
    wholeNumber(1, framesPerSecondMax),
    15,
    "Maximum frames per second of a phone's video and of pictures.",
  ),
  cors_origins: setting(
    textList('a list of origins such as https://app.example, or *'),
    ['*'],
    'Origins of web pages that may use the WebRTC resources; *: all.',
  ),
  ice_servers: setting(
    iceServerList(),
    [],
    'STUN and TURN servers for WebRTC clients, as URLs; for TURN with user name and password: turn:turn.example:3478 user password.',
    true,
  ),
  webrtc: setting(
    onOff,
    true,
    'Devices and people may connect by WebRTC. Needs the package node-datachannel.',
  ),
  rtc_port: setting(
    wholeNumber(1, 65_535).nullable(),
    null,
    'UDP port of all WebRTC connections; nothing: the number of the listening port.',
  ),
  rtc_port_range: setting(
    optionalPortRange,
    null,
    'UDP ports, such as 40000-40999: one for each WebRTC connection, instead of one for all.',
  ),
  rtc_advertise: setting(
    addressesOnly,
    [],
    'IP addresses by which WebRTC clients reach the media process; empty: its own.',
  ),
  rtc_peers_max: setting(wholeNumber(1, 100_000), 500, 'Maximum WebRTC connections; more are refused.'),
  process: setting(
    oneOf('child', 'elsewhere', 'none'),
    'child',
    'Place of the media processes: children of the server, elsewhere (connecting to media.link_listen), or none.',
  ),
  processes: setting(
    wholeNumber(1, 16),
    1,
    'Number of media processes that share the calls: children, which listen on consecutive ports, or processes that may connect to media.link_listen.',
  ),
  link_listen: setting(
    listenAddress.nullable(),
    null,
    'Listening address for media processes elsewhere; needs media.link_key_file.',
  ),
  link_server: setting(
    listenAddress.nullable(),
    null,
    'For serve --only media: media.link_listen of its server.',
  ),
  link_key_file: setting(
    optionalText('the path of a file'),
    null,
    'File with the pre-shared key of the link to media processes elsewhere, at least 32 bytes.',
  ),
  workers: setting(
    wholeNumber(0, 256),
    0,
    'Threads of each media process; 0: one less than the number of CPUs, divided among the children.',
  ),
  load_max: setting(
    numberBetween(0.05, 1),
    0.85,
    "Maximum share of the workers' time that calls may reserve; a call beyond it is refused.",
  ),
  quality: setting(wholeNumber(1, 100), 80, 'JPEG quality, as defined by libjpeg.'),
  frame_width_max: setting(
    wholeNumber(16, sourceSideMax),
    1920,
    'Maximum pixels of the long side of a source frame; larger frames are dropped before decoding.',
  ),
  frame_height_max: setting(
    wholeNumber(16, sourceSideMax),
    1080,
    'Maximum pixels of the short side of a source frame.',
  ),
  ...tlsSettings,
});

export const mediaSection = mediaSettings
  .superRefine(pairedTlsFiles)
  .superRefine(linkedElsewhere)
  .superRefine(portsForAll)
  .superRefine(originForEach);

type MediaSettings = z.output<typeof mediaSettings>;

/** Several children listen on consecutive ports, for WebRTC too if it has one port. */
function portsForAll(given: MediaSettings, context: z.core.$RefinementCtx): void {
  const { process, processes, listen, rtc_port: rtcPort } = given;
  if (process !== 'child') return;
  const lastPort = portMax + 1 - processes;
  const expected = `at most ${lastPort}, since media.processes is ${processes}: each listens one port above the last`;
  if (listen.port > lastPort) refuse(context, ['listen'], expected);
  if (rtcPort !== null && rtcPort > lastPort) refuse(context, ['rtc_port'], expected);
}

const portMax = 65_535;

/** Each process needs its own address, since a call is at one of them. `link_server`: settings of a single process. */
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

/** A server with media processes elsewhere needs an address and a key for their links. */
function linkedElsewhere(given: MediaSettings, context: z.core.$RefinementCtx): void {
  const { process, link_listen: listen, link_key_file: keyFile } = given;
  if (process !== 'elsewhere') return;
  if (listen === null) refuse(context, ['link_listen'], 'an address, since media.process is elsewhere');
  if (keyFile === null) refuse(context, ['link_key_file'], 'a path, since media.process is elsewhere');
}
