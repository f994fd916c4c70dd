/** Channels of interleaved samples, one or two: two are mixed to one at half level each, and one is duplicated. */

/** Returns `samples` itself if nothing changes. */
export function withChannels(
  samples: Int16Array<ArrayBuffer>,
  channels: number,
  wanted: number,
): Int16Array<ArrayBuffer> {
  if (channels === wanted) return samples;
  return wanted === 1 ? mixed(samples) : doubled(samples);
}

function mixed(samples: Int16Array): Int16Array<ArrayBuffer> {
  const mono = new Int16Array(samples.length / 2);
  for (let at = 0; at < mono.length; at += 1)
    mono[at] = ((samples[at * 2] ?? 0) + (samples[at * 2 + 1] ?? 0)) >> 1;
  return mono;
}

function doubled(samples: Int16Array): Int16Array<ArrayBuffer> {
  const stereo = new Int16Array(samples.length * 2);
  for (let at = 0; at < stereo.length; at += 1) stereo[at] = samples[at >> 1] ?? 0;
  return stereo;
}
