import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DueHeap } from '../../src/projector/due-heap.ts'

const step = fc.record({ channelkey: fc.constantFrom('a', 'b', 'c', 'd'), dueMs: fc.option(fc.nat(50)) })

test('the first is always the one due first, whatever was set, moved and removed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), steps => {
      const heap = new DueHeap()
      const model = new Map<string, number>()
      for (const { channelkey, dueMs } of steps) {
        if (dueMs === null) {
          heap.delete(channelkey)
          model.delete(channelkey)
        } else {
          heap.set({ channelkey, dueMs })
          model.set(channelkey, dueMs)
        }
        const first = heap.peek()
        assert.equal(first?.dueMs, model.size === 0 ? undefined : Math.min(...model.values()))
        if (first !== undefined) assert.equal(model.get(first.channelkey), first.dueMs)
        assert.equal(heap.size, model.size)
      }
    }),
  )
})
