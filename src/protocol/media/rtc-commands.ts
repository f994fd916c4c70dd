/** Commands of the data channel `commands`, with the numbers of the messaging app's devices. Source: calls-and-media.md, Legs. */
export const rtcCommands = {
  /** To the device: media flows. */
  connected: 0x2000,
  /** In both directions: the call is over. */
  hangup: 0x2001,
} as const;

/** From a viewer, which receives sound only between `hear` and `mute`. */
export const viewerCommands = { hear: 0x3000, mute: 0x3001 } as const;
