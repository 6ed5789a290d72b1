// The public facts of stations and channels: what an operator sets, and what every role may know.
import type { ChannelContext, Fallback } from './event.ts'

/** How much of a channel's history players may read (rule 27). */
export type HistoryOption = 'recent' | 'public' | 'off'

export type Station = {
  key: string
  /** Display name. */
  name: string
  /** IANA name, or null for UTC. */
  timezone: string | null
}

/** What an operator sets of a channel. */
export type ChannelSettings = {
  key: string
  /** The stationkey. */
  station: string
  name: string
  /** IANA name, or null for the station's. */
  timezone: string | null
  /** Default cover: an http(s) address, or empty. */
  cover: string
  /** 0 to 600 (rule 15). */
  holdSeconds: number
  fallback: Fallback | null
  announceNext: boolean
  history: HistoryOption
}

export type Channel = ChannelSettings & {
  /**
   * Which life of its key this is: the registry revision of the removal before it, 0 for the first. The same for as
   * long as the channel exists. Entries of releases that did not know it have none; they count as the first life.
   */
  life?: number
}

export const defaultHoldSeconds = 30
export const maxHoldSeconds = 600

/** A channel of which no more is said: what holds where an operator sets nothing. */
export function plainChannel(key: string, station: string, name = ''): ChannelSettings {
  return {
    key,
    station,
    name,
    timezone: null,
    cover: '',
    holdSeconds: defaultHoldSeconds,
    fallback: null,
    announceNext: true,
    history: 'recent',
  }
}

/** The zone in which a channel's times are written and its zone-less times are read (rules 2 and 7). */
export function zoneOf(channel: ChannelSettings, station: Station): string {
  return channel.timezone ?? station.timezone ?? 'UTC'
}

/** The context that an event of this channel carries. */
export function contextOf(channel: ChannelSettings, station: Station, revision: number): ChannelContext {
  return {
    revision,
    stationkey: station.key,
    station: station.name || station.key,
    channel: channel.name || channel.key,
    timezone: zoneOf(channel, station),
    cover: channel.cover,
    holdSeconds: channel.holdSeconds,
    fallback: channel.fallback,
    announceNext: channel.announceNext,
  }
}
