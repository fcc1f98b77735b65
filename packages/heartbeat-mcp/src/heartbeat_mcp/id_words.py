"""The words of readable ids: friendly, inoffensive in every pairing, of ASCII letters only (HB-1).

The lists contain the words of the source (requirements 3.2). No word is in both.
"""

from typing import Final

__all__ = ["ADJECTIVES", "NOUNS"]

ADJECTIVES: Final = tuple(
    """
    able agile airy amber ample ancient aqua atomic avid azure balanced blissful blue bold brave breezy bright brisk
    broad bubbly calm candid capable careful caring casual cheerful chief civic classic clean clear clever coastal comfy
    cool cosmic cozy creative crisp curious dapper daring dashing deep deft devoted diligent distant dreamy durable
    dynamic eager early earnest easy elegant eloquent epic equal fabled fair faithful famous fancy fast fearless festive
    fine firm fluent fluffy focused fond formal fortunate frank fresh friendly frosty gallant generous gentle genuine
    gifted glad gleaming global glossy golden graceful grand grateful green happy hardy harmonic hearty helpful honest
    hopeful humble ideal immense inventive jaunty jolly jovial joyful keen kind lasting lavish leafy light lively local
    lofty logical loyal lucid lucky luminous lunar lyrical magic marine mellow merry mighty mindful misty modern modest
    musical natural neat nimble noble novel open optimal orderly patient peaceful perky playful pleasant polished polite
    prime proud prudent quick quiet quirky radiant rapid rare ready refined regal reliable robust rustic scenic serene
    sharp shiny silent silver simple sincere smart smooth snowy solar solid spry stable steady stellar sturdy subtle
    sunny super swift tactful tidy tranquil trusty upbeat vast vital vivid warm wild wise witty zesty
    """.split()
)
"""200 words, in alphabetical order."""

NOUNS: Final = tuple(
    """
    acorn alder almond anchor antler apple apricot arbor arch aspen atlas aurora badge badger bamboo banjo barley basil
    beacon birch bison blossom boat bonsai book breeze bridge brook cactus camel canoe canyon castle cedar cello
    chestnut cider citrus clarinet cliff cloud clover coast comet compass condor coral cottage cove crane creek cricket
    crystal cypress daisy dawn delta desert dolphin dragonfly drum dune eagle echo elk elm ember falcon fern ferry
    fiddle finch fjord flute forest fountain fox gable galaxy garden gazelle gecko geyser glacier glade grove guitar
    gull harbor harp harvest hazel heron hill horizon iris island ivy jasmine jay juniper kayak kestrel kite koala
    lagoon lake lantern lark lemon lemur lily linden lion llama lotus lynx magnet mango maple marble marlin meadow
    meteor mint moon moose mountain nebula nectar oak oasis ocean olive orbit orchard orchid otter owl panda papaya
    parrot pearl pebble pelican penguin petal piano pine planet plum pond poplar prairie puffin puma quail quartz quill
    rabbit rain raven reef ridge river robin rocket rose saffron sail salmon sapphire sequoia shell sky sparrow spring
    spruce star stone stork stream summit sunrise swan tiger topaz tower trail tulip tundra turtle valley violet violin
    walrus wave willow wren zebra
    """.split()
)
"""200 words, in alphabetical order."""
