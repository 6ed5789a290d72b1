// Loaded before the program: its wall clock is off by an hour. (What counts time since a moment is not.)
const shiftMs = 3_600_000
const RealDate = Date
const now = () => RealDate.now() + shiftMs

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(now())
    else super(...parts)
  }

  static now() {
    return now()
  }
}
