"""Physics: engines behind one protocol, sensors, controllers and inverse kinematics.

Begin with `Solver`; docs/concepts/physics.md shows a first simulation.
"""

from mainspring.physics._binding import BodyOf, PoseBinding
from mainspring.physics._box2d import Box2D
from mainspring.physics._camera import Camera
from mainspring.physics._controller import Controller, PdController
from mainspring.physics._errors import (
    DivergenceError,
    JointClaimError,
    ModelError,
    PhysicsError,
    RestoreError,
    SensorError,
    StepError,
    UnknownNameError,
)
from mainspring.physics._ik import IkResult, InverseKinematics
from mainspring.physics._joints import JointGroup
from mainspring.physics._jolt import Jolt
from mainspring.physics._kinds import CONTACT, ContactEvent, Guarantee, RayHits, Restore
from mainspring.physics._model import Body, Joint, Model
from mainspring.physics._mujoco import MuJoCo
from mainspring.physics._rapier import Rapier
from mainspring.physics._sensor import Noise, Reading, Sensor
from mainspring.physics._sensors import (
    ContactSensor,
    Imu,
    JointState,
    ModelSensors,
    RangeScan,
)
from mainspring.physics._solver import Solver
from mainspring.physics._trajectory import JerkLimited, TrajectoryController

__all__ = [
    "CONTACT",
    "Body",
    "BodyOf",
    "Box2D",
    "Camera",
    "ContactEvent",
    "ContactSensor",
    "Controller",
    "DivergenceError",
    "Guarantee",
    "IkResult",
    "Imu",
    "InverseKinematics",
    "JerkLimited",
    "Joint",
    "JointClaimError",
    "JointGroup",
    "JointState",
    "Jolt",
    "Model",
    "ModelError",
    "ModelSensors",
    "MuJoCo",
    "Noise",
    "PdController",
    "PhysicsError",
    "PoseBinding",
    "RangeScan",
    "Rapier",
    "RayHits",
    "Reading",
    "Restore",
    "RestoreError",
    "Sensor",
    "SensorError",
    "Solver",
    "StepError",
    "TrajectoryController",
    "UnknownNameError",
]
