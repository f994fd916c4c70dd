/**
 * Values derived from the settings: settings in the form of the layers below, combinations of several, and the share of one edge.
 */
import type { AuthenticatorSettings } from '../../gateways/api/authenticator.ts';
import type { ParseRules } from '../../gateways/api/route.ts';
import { availableParallelism } from 'node:os';
import type { Rate } from '../../lib/token-bucket.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import type { WakeupLimitSettings } from '../../core/devices/request-limits.ts';
import { type ListenerName, type Settings, listenerNames } from './settings-schema.ts';
import {
  parseOrigin,
  parsePortRange,
  parseOrigins,
  type ReachableOrigin,
} from '../../model/settings-values.ts';
import {
  formatListenAddress,
  reachableHere,
  type ListenAddress,
} from '../../lib/connections/listen-address.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';

/** Settings of a media process: a child, or one served alone. */
export function mediaProcessSettings(settings: Pick<Settings, 'media'>): MediaProcessSettings {
  const { media } = settings;
  return {
    legs: {
      host: media.listen.host,
      port: media.listen.port,
      legsMax: media.legs_max,
      handshakesMax: media.handshakes_max,
      handshakesPerAddressMax: media.handshakes_per_address_max,
      tls: tlsFiles(media),
      rtc: { corsOrigins: [...media.cors_origins], iceServers: media.ice_servers.map(iceServerLink) },
    },
    workers: mediaThreads(settings),
    loadMax: media.load_max,
    quality: media.quality,
    sourceMax: { width: media.frame_width_max, height: media.frame_height_max },
    maxFps: media.max_fps,
    webrtc: media.webrtc ? webrtcSettings(media) : null,
    advertise: media.advertise,
  };
}

/** A range of ports takes precedence over one port. */
function webrtcSettings(media: Settings['media']): MediaProcessSettings['webrtc'] {
  const { rtc_port: port, rtc_port_range: range } = media;
  return {
    ports: range === null ? (port === null ? null : { first: port, last: port }) : parsePortRange(range),
    advertise: media.rtc_advertise,
    peersMax: media.rtc_peers_max,
  };
}

/** Settings of one child of this machine: children share its CPUs, and listen on consecutive ports. */
export function mediaChildSettings(settings: Settings, process: number): MediaProcessSettings {
  const whole = mediaProcessSettings(settings);
  const { legs, webrtc } = whole;
  return {
    ...whole,
    legs: { ...legs, port: legs.port === 0 ? 0 : legs.port + process },
    webrtc: webrtc === null ? null : { ...webrtc, ports: portsOfChild(webrtc.ports, process) },
  };
}

type UdpPorts = NonNullable<MediaProcessSettings['webrtc']>['ports'];

/** Children share a range; without one, each has its own port. */
function portsOfChild(ports: UdpPorts, process: number): UdpPorts {
  if (ports === null || ports.first !== ports.last) return ports;
  return { first: ports.first + process, last: ports.last + process };
}

/** Value of a Link header. Source: RFC 9725, 4.6. */
function iceServerLink(server: string): string {
  const [url = '', username, credential] = server.split(' ');
  const link = `<${url}>; rel="ice-server"`;
  if (username === undefined) return link;
  return `${link}; username="${username}"; credential="${credential}"; credential-type="password"`;
}

/** Default burst of a device, in seconds of its rate. */
const deviceBurstSeconds = 3;
const applicationBurstSeconds = 2;

export function wakeupLimitSettings({ wakeup }: Settings): WakeupLimitSettings {
  const { device_per_second: device, application_per_second: application } = wakeup;
  return {
    device: { perSecond: device, burst: wakeup.device_burst ?? burstOf(device, deviceBurstSeconds) },
    application: applicationRate(application, wakeup.application_burst),
    inFlightMax: wakeup.in_flight_max,
  };
}

export function issuingSettings({
  calls,
}: Settings): Pick<CallCredentialsDeps, 'requireBridge' | 'addressInPeerId'> {
  return { requireBridge: calls.require_bridge, addressInPeerId: calls.address_in_peer_id };
}

/** Rate limits of one application by kind of request; null: unlimited. */
export function callRates({ limits }: Settings) {
  const rate = (perSecond: number | null): Rate | null =>
    perSecond === null ? null : applicationRate(perSecond, null);
  return {
    queries: rate(limits.queries_per_second),
    issuances: rate(limits.issuances_per_second),
    messages: rate(limits.messages_per_second),
    eventReads: rate(limits.event_reads_per_second),
    provisionings: rate(limits.provisionings_per_second),
  };
}

function applicationRate(perSecond: number, burst: number | null): Rate {
  return { perSecond, burst: burst ?? burstOf(perSecond, applicationBurstSeconds) };
}

/** At least 1: a bucket smaller than one token never grants any. */
function burstOf(perSecond: number, seconds: number): number {
  return Math.max(1, perSecond * seconds);
}

const threadsMax = 4;

/** Transcoding threads of a media process on this machine; children share the CPUs. */
export function mediaThreads(
  { media }: Pick<Settings, 'media'>,
  processors: number = availableParallelism(),
): number {
  const sharers = media.process === 'child' ? media.processes : 1;
  return media.workers > 0 ? media.workers : Math.max(1, Math.floor((processors - 1) / sharers));
}

/** Threads of the verification pool: one CPU is left for the main loop. */
export function verifierThreads({ auth }: Settings, processors: number = availableParallelism()): number {
  return auth.threads > 0 ? auth.threads : Math.min(threadsMax, Math.max(1, processors - 1));
}

/** The known address of a media process. */
interface KnownReach {
  readonly process: number;
  readonly address: ListenAddress;
  /** Origins from its own settings, comma separated; null: none. */
  readonly advertise: string | null;
}

/** Origin for people, such as `https://media.example:8083`, without a trailing slash. */
export function mediaOrigin(settings: Pick<Settings, 'media'>, reach: KnownReach): string {
  return urlOf('http', mediaReach(settings, reach));
}

/**
 * URL for devices: `ws://host:port` or `wss://host:port` of a media listener. Null: there is none, or its address is unknown.
 * `reported`: the address that the media process reported last; null: none yet.
 */
export function mediaUrl(settings: Pick<Settings, 'media'>, reported: KnownReach | null): string | null {
  const { process, listen, advertise } = settings.media;
  if (process === 'none') return null;
  const listens = { process: 0, address: listen, advertise: null };
  const known = reported ?? (process === 'child' && listen.port > 0 ? listens : null);
  if (known === null && advertise === null) return null;
  const reach = mediaReach(settings, known ?? listens);
  // A media process elsewhere reported this address, which may be no valid host.
  const isOrigin = (advertise ?? known?.advertise ?? null) !== null || parseOrigin(reach.authority) !== null;
  return isOrigin ? urlOf('ws', reach) : null;
}

/** The server's settings take precedence; they have one origin for each child. */
function mediaReach({ media }: Pick<Settings, 'media'>, reach: KnownReach): ReachableOrigin {
  const { advertise, process, tls_cert_file: certFile } = media;
  const set = parseOrigins(advertise ?? reach.advertise ?? '') ?? [];
  const { isSecure, authority } = set[process === 'child' ? reach.process : 0] ?? {
    isSecure: null,
    authority: formatListenAddress(reachableHere(reach.address)),
  };
  return { authority, isSecure: isSecure ?? certFile !== null };
}

function urlOf(scheme: 'http' | 'ws', { isSecure, authority }: ReachableOrigin): string {
  return `${scheme}${isSecure === true ? 's' : ''}://${authority}`;
}

/** Listen addresses with real ports. */
export type RealListeners = Readonly<Record<ListenerName, ListenAddress>>;

/** Replaces ports 0 by the ports of `listeners`. */
export function withListeners(settings: Settings, listeners: RealListeners): Settings {
  const at = (name: ListenerName): ListenAddress => {
    const { host, port } = settings[name].listen;
    return { host, port: port === 0 ? listeners[name].port : port };
  };
  const moved = listenerNames.map((name) => [name, { ...settings[name], listen: at(name) }]);
  return { ...settings, ...(Object.fromEntries(moved) as Pick<Settings, ListenerName>) };
}

/** Settings of one edge of this machine: rates and handshakes are divided among the edges; the core limits the sessions of all. */
export function edgeSleepSettings({ sleep }: Settings): Settings['sleep'] {
  const share = (whole: number): number => Math.ceil(whole / sleep.edges);
  return {
    ...sleep,
    accepts_per_second: share(sleep.accepts_per_second),
    handshakes_max: share(sleep.handshakes_max),
    admission_queue_max: share(sleep.admission_queue_max),
  };
}

/** Settings for the parsing of API parameters. */
export function parseRules({ calls, registry }: Settings): ParseRules {
  return {
    mixedFormats: calls.mixed_formats,
    secretRules: { allowShortSecrets: registry.allow_short_secrets },
  };
}

export function verificationSettings({ auth }: Settings): AuthenticatorSettings {
  return { windowMs: auth.clock_window_s * 1000, explainMismatch: auth.explain_mismatch };
}

/** 1 on a system that does not balance connections over the listeners of a port. */
export function frontCount({ api }: Settings, platform = process.platform): number {
  return platform === 'linux' ? api.fronts : Math.min(api.fronts, 1);
}
