// What a group does by one of its members: a part of <cooperative_groups.h> here.
#pragma once
#include <cooperative_groups.h>
